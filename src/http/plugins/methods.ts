import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'

/** Longer than any address that we create; of 16 KiB of headers (Node's own bound) most are the token's. */
export const MAX_URL = 12 * 1024

/**
 * What is no request to a route of ours is answered before its body is read: 405 with `Allow` where the path has other methods, else
 * 404; and what is longer than any address of ours 414.
 */
export function addMethods(app: App): void {
  const paths = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = paths.get(url) ?? { pattern: toPattern(url), methods: new Set() }
    for (const one of [method].flat()) known.methods.add(one)
    paths.set(url, known)
  })
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.length > MAX_URL) throw new RequestError('url-too-long', 'The address is too long.')
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new RequestError('invalid-input', 'The request names no host.')
    }
    // A method that a path itself lacks would fall to its sibling with a parameter, which takes its last part for an identifier.
    if (!request.is404 && !request.routeOptions.url?.includes(':')) return
    const [path = ''] = request.url.split('?')
    const own = paths.get(path.replace(/\/$/, ''))
    if (!request.is404 && !own) return
    const methods = (own ?? [...paths.values()].find(({ pattern }) => pattern.test(path)))?.methods
    if (!methods) throw new RequestError('not-found', 'There is nothing at this address.')
    reply.header('allow', [...methods].join(', '))
    throw new RequestError('wrong-method', `${request.method} is not allowed at this address.`)
  })
}

/** Parameters stand for one segment; what Fastify's routers match beyond that, files of a page, is not told apart. */
function toPattern(url: string): RegExp {
  const segments = url.split(/(:\w+|\*)/).map(part => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('').replace(/\/$/, '')}/?$`)
}
