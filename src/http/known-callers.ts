/** About 500 bytes each. */
const MAX_KNOWN = 10_000
/** Ours have some 300. */
const MAX_TOKEN = 1_024

/**
 * Whose the tokens are that were valid lately, so that a request waits in the line of its user from its first line on. It
 * says nothing of whether a token still is valid.
 */
export interface KnownCallers {
  find(authorization: string | undefined): string | undefined
  remember(token: string, userId: string): void
}

/** The token of an Authorization header. */
export const readToken = (authorization: string): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization)?.[1]

export function createKnownCallers(): KnownCallers {
  /** By token; the one that was used last comes last. */
  const users = new Map<string, string>()
  return {
    find: authorization => users.get((authorization && readToken(authorization)) ?? ''),
    remember(token, userId) {
      if (token.length > MAX_TOKEN) return
      users.delete(token)
      users.set(token, userId)
      const [oldest] = users.keys()
      if (users.size > MAX_KNOWN && oldest !== undefined) users.delete(oldest)
    },
  }
}
