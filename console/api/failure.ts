/** What a request came to that did not succeed. Status 0 is a server that was not reached. */
export class Failure extends Error {
  readonly status: number
  /** The server's sentences, by the field that they are about. */
  readonly fields: Record<string, string>
  /** When a server that cannot answer now wants to be asked again. */
  readonly retryAfterMs: number | undefined

  constructor(
    status: number,
    message: string,
    errors: readonly { path: string; message: string }[] = [],
    retryAfterMs?: number,
  ) {
    super(message)
    this.status = status
    this.retryAfterMs = retryAfterMs
    this.fields = Object.fromEntries(errors.map(error => [error.path, error.message]))
  }
}

/** What the page itself finds wrong before it asks the server, in its own language. */
export class OwnFailure extends Failure {}

export const retryAfterOf = (error: unknown): number | undefined =>
  error instanceof Failure ? error.retryAfterMs : undefined
/** What is wrong stays wrong; a server that is away comes back. */
export const isAway = (error: unknown): boolean =>
  error instanceof Failure && (error.status === 0 || error.status >= 500)
const AGAIN_EVERY_MS = 5_000
/** When to ask again what came to nothing, where it may come to something. */
export const againAfter = (error: unknown): number | undefined =>
  retryAfterOf(error) ?? (isAway(error) ? AGAIN_EVERY_MS : undefined)
export const isForbidden = (error: unknown): boolean => error instanceof Failure && error.status === 403
export const isMissing = (error: unknown): boolean => error instanceof Failure && error.status === 404
