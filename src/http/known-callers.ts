/** Each takes about 600 bytes. */
const MAX_KNOWN = 10_000
/** Our tokens have about 300 characters. */
const MAX_TOKEN = 1_024

/**
 * The users of recently valid tokens, so that a request waits in the queue of its user from the moment its head is
 * read. An entry does not prove that its token is still valid.
 */
export interface KnownCallers {
  find(authorization: string | undefined): KnownCaller | undefined
  remember(token: string, caller: KnownCaller): void
}

interface KnownCaller {
  userId: string
  /** The root of the user's organization (fair/roots.ts). */
  root: string
}

/** The token of an Authorization header. */
export const readToken = (authorization: string): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization)?.[1]

export function createKnownCallers(): KnownCallers {
  /** By token; the most recently used one comes last. */
  const callers = new Map<string, KnownCaller>()
  return {
    find: authorization => callers.get((authorization && readToken(authorization)) ?? ''),
    remember(token, { userId, root }) {
      if (token.length > MAX_TOKEN) return
      callers.delete(token)
      callers.set(token, { userId, root })
      const [oldest] = callers.keys()
      if (callers.size > MAX_KNOWN && oldest !== undefined) callers.delete(oldest)
    },
  }
}
