/** About 600 bytes each. */
const MAX_KNOWN = 10_000
/** Ours have some 300. */
const MAX_TOKEN = 1_024

/**
 * Whose the tokens are that were valid lately, so that a request waits in the line of its user from its first line on. It
 * says nothing of whether a token still is valid.
 */
export interface KnownCallers {
  find(authorization: string | undefined): KnownCaller | undefined
  remember(token: string, caller: KnownCaller): void
}

interface KnownCaller {
  userId: string
  /** Of the user's organization (fair/roots.ts). */
  root: string
}

/** The token of an Authorization header. */
export const readToken = (authorization: string): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization)?.[1]

export function createKnownCallers(): KnownCallers {
  /** By token; the one that was used last comes last. */
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
