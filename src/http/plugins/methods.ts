import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'

/** Longer than any address that we create. Node bounds all headers at 16 KiB, and most of that is the token's. */
export const MAX_URL = 12 * 1024

/**
 * Rejects requests that match no route before their body is read: 405 with `Allow` if the path has other methods, else
 * 404; 414 if the address is longer than any of ours.
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
    // If a path lacks a method, the router falls back to a sibling with a parameter, which would take the path's last
    // part as an identifier.
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

/**
 * Parameters match one segment. Further patterns of Fastify's router, for the files of a page, are not distinguished.
 */
function toPattern(url: string): RegExp {
  const segments = url.split(/(:\w+|\*)/).map(part => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('').replace(/\/$/, '')}/?$`)
}
