/** A request that did not succeed. Status 0 means that the server was not reached. */
export class Failure extends Error {
  readonly status: number
  /** The server's sentences, by the path of the field that each is about. */
  readonly fields: Record<string, string>
  /** When a busy server wants the next request. */
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

/** An error that the page finds before it asks the server, in the language of the page. */
export class OwnFailure extends Failure {}

export const retryAfterOf = (error: unknown): number | undefined =>
  error instanceof Failure ? error.retryAfterMs : undefined
/** Whether a retry may help: a server that is away comes back, an invalid request stays invalid. */
export const isAway = (error: unknown): boolean =>
  error instanceof Failure && (error.status === 0 || error.status >= 500)
const AGAIN_EVERY_MS = 5_000
/** The wait before a failed query is sent again; undefined when a retry cannot help. */
export const againAfter = (error: unknown): number | undefined =>
  retryAfterOf(error) ?? (isAway(error) ? AGAIN_EVERY_MS : undefined)
export const isForbidden = (error: unknown): boolean => error instanceof Failure && error.status === 403
export const isMissing = (error: unknown): boolean => error instanceof Failure && error.status === 404
