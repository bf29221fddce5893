import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** Servers are often in the administrator's folders, which a user's PATH omits. */
export const PATH = [process.env.PATH, '/usr/local/sbin', '/usr/sbin', '/sbin'].filter(Boolean).join(':')

/**
 * Runs a command to its end and returns its exit code. A code outside `codes` (only 0 by default) is an error that
 * ends with the last lines of the log. `inherit` becomes file descriptor 3 of the command.
 */
export async function run(
  command: string,
  args: string[],
  options: { log?: string; inherit?: number; codes?: number[]; env?: Record<string, string> } = {},
): Promise<number> {
  const output = openSync(options.log ?? '/dev/null', 'a')
  try {
    const child = spawn(command, args, {
      stdio: ['ignore', output, output, options.inherit ?? 'ignore'],
      env: { ...process.env, PATH, ...options.env },
    })
    const [code, signal] = await once(child, 'exit')
    if (code !== null && (options.codes ?? [0]).includes(code)) return code
    const tail = options.log ? `: ${lastLines(options.log, 3)} (all of it in ${options.log})` : ''
    throw new Error(`${command} ended with ${signal ?? code}${tail}`)
  } finally {
    closeSync(output)
  }
}

/** The standard output of a command that succeeds, without the last line break. */
export async function outputOf(command: string, args: string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, PATH } })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
  return Buffer.concat(chunks).toString().trimEnd()
}

/** The path of a command; undefined if it is not installed. */
export function findExecutable(name: string): string | undefined {
  return PATH.split(':')
    .map(folder => join(folder, name))
    .find(path => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** The last lines of a log that are not empty, on one line. */
export function lastLines(file: string, count: number): string {
  return linesOf(file).slice(-count).join(' | ')
}

export function linesOf(file: string, like = /\S/): string[] {
  return stripVTControlCharacters(readFileSync(file, 'utf8'))
    .split('\n')
    .filter(line => like.test(line))
}

/** Ports below those that Linux gives to connections, and to servers that ask for any. */
const [FIRST_PORT, PORTS] = [20_000, 12_000]
/** Each process begins elsewhere. */
let nextPort = process.pid * 97

/**
 * `preferred` if nobody listens there, else another port. A server that needs seconds until it listens finds it free, and so does
 * one that is killed and comes back.
 */
export async function freePort(preferred = FIRST_PORT + (nextPort++ % PORTS)): Promise<number> {
  const server = createServer()
  server.listen({ port: preferred, host: '127.0.0.1' })
  try {
    await once(server, 'listening')
  } catch {
    return await freePort()
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP port')
  return address.port
}
