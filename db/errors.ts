import { BusyError } from '../fair/semaphore.ts'
import { AwayError, OvertakenError, TimeoutError } from './failures.ts'

/** The SQLSTATE of an error from a driver, even if drizzle has wrapped it. */
export function sqlState(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code, syscall } = current as { code?: unknown; syscall?: unknown }
    // A socket's error has a code as well, and EPIPE has the length of an SQLSTATE.
    if (typeof code === 'string' && syscall === undefined && /^[0-9A-Z]{5}$/.test(code)) return code
  }
  return undefined
}

/**
 * Whether the database rejects the values themselves (class 22, data exception; 23, integrity), so that no retry helps.
 */
export function isInvalidData(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'))
}

/**
 * Whether a partition is missing. The state is 23514, as for a broken check, but without a constraint, and the values
 * are right.
 */
export function isMissingPartition(error: unknown): boolean {
  if (sqlState(error) !== '23514') return false
  for (let current = error; current instanceof Error; current = current.cause) {
    if ((current as { constraint?: unknown }).constraint !== undefined) return false
  }
  return true
}

/** Whether the disk of the database has no room. */
export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === '53100'
}

/** Whether the same transaction may succeed if it is repeated at once: serialization failure, deadlock. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01' || hasCause(error, OvertakenError)
}

const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTCONN',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
])

/**
 * Whether the database is unavailable, rather than rejecting the statement: no connection (class 08), no permission to
 * connect (28: its password is being changed), too many connections or no resources (53), shutting down or starting up
 * (57P), read-only after a failover (25006), or a socket error.
 */
export function isAway(error: unknown): boolean {
  if (hasCause(error, AwayError) || isBusy(error)) return true
  const state = sqlState(error)
  if (state) return /^(08|28|53|57P|25006)/.test(state)
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as { code?: unknown }
    if (typeof code === 'string' && AWAY_CODES.has(code)) return true
    // pg reports a lost or late connection by message only.
    if (
      /^Connection terminated|timeout exceeded when trying to connect|not queryable|^Query read timeout/.test(
        current.message,
      )
    ) {
      return true
    }
    if (current instanceof AggregateError && current.errors.some(isAway)) return true
  }
  return false
}

/** Whether the database does not let this user in: wrong at a start, and for a moment while its password is changed. */
export function isRefused(error: unknown): boolean {
  return sqlState(error)?.startsWith('28') === true
}

/** Whether the process itself is overloaded: no turn came in time (fair/semaphore.ts). */
export function isBusy(error: unknown): boolean {
  return hasCause(error, BusyError)
}

/** Whether the work took longer than allowed. */
export function isTimeout(error: unknown): boolean {
  return sqlState(error) === '57014' || hasCause(error, TimeoutError)
}

function hasCause(error: unknown, kind: new (...given: never[]) => Error): boolean {
  return error instanceof kind || (error instanceof Error && hasCause(error.cause, kind))
}

/** Whether a lock was not granted within lock_timeout. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/**
 * A sentence about the kind of record of which an organization would have too many (row_caps), or null for another
 * error.
 */
export function overCap(error: unknown): string | null {
  if (sqlState(error) !== 'FLCAP') return null
  for (let current = error; current instanceof Error; current = current.cause) {
    if ((current as { code?: unknown }).code === 'FLCAP') return current.message
  }
  return null
}

/** Whether a unique key is taken already. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Whether another row still refers to this one, or this one refers to a missing row. */
export function isReferenced(error: unknown): boolean {
  return sqlState(error) === '23503'
}
