/**
 * Failures of our own that callers treat like the same failure of PostgreSQL (db/errors.ts): the work may succeed when it is
 * done again.
 */
abstract class RetryableError extends Error {
  readonly retryable = true
}

/** The database answers nothing any more, or not yet. */
export class AwayError extends RetryableError {}

/** The work took longer than it may. */
export class TimeoutError extends RetryableError {}

/** Other work was done meanwhile that this one has to take into account, so it begins again at once. */
export class OvertakenError extends RetryableError {}
