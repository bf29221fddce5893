import proxyAddress from '@fastify/proxy-addr'
import type { Reader } from './reader.ts'

/** Addresses and networks. A name is refused: it would have to be looked up for every request. */
export function readProxies(read: Reader, name: string): string[] {
  const given = read.list(name)
  const wrong = given.filter(one => !isNetwork(one))
  if (wrong.length === 0) return given
  const sentence = `${name} has to be a list of addresses and networks such as 10.0.0.0/8, it has "${wrong.join(', ')}"`
  read.problems.push(sentence)
  return []
}

function isNetwork(text: string): boolean {
  try {
    proxyAddress.compile(text)
    return true
  } catch {
    return false
  }
}
