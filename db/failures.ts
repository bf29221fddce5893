/**
 * Our own failures that callers treat like the same failure of PostgreSQL (db/errors.ts): the work may succeed if it is
 * repeated.
 */
abstract class RetryableError extends Error {
  readonly retryable = true
}

/** The database does not answer any more, or not yet. */
export class AwayError extends RetryableError {}

/** The work took longer than allowed. */
export class TimeoutError extends RetryableError {}

/** Other work was committed meanwhile and must be taken into account, so this work begins again at once. */
export class OvertakenError extends RetryableError {}
