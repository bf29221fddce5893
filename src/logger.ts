import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from './config.ts'

/**
 * Fields of errors of PostgreSQL and PGlite that hold values of a row, such as "Key (email)=(ada@example.com) already
 * exists" and "COPY points, line 7: …", and statements with their values.
 */
const HIDDEN = new Set(['detail', 'where', 'internalQuery', 'query', 'params', 'parameters', 'values'])
/** drizzle appends the values of a statement to its message. */
const VALUES = /\nparams: [\s\S]*?(?=\n {4}at |\ncaused by: |$)/g
/** PostgreSQL quotes a value that it cannot read: `invalid input syntax for type integer: "…"`. */
const QUOTED = /(invalid (?:input|byte) [^:\n]*): "[\s\S]*?"(?=\n|$)/g

/**
 * Class 22 (data exceptions): the message quotes the value itself, as in `value "…" is out of range for type integer`.
 * Quotation marks are those of the server's language. A value may contain some too, so all between the first and the
 * last is dropped.
 */
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/
const QUOTATION = /["“”„«»][\s\S]*["“”„«»]/

/** The log of a process: lines of JSON. No record, position or key of anybody is in it. */
export function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: serialize, error: serialize },
    },
    destination,
  )
}

function serialize(error: unknown): unknown {
  const quoting = listQuoting(error)
  return hideRows(pino.stdSerializers.err(error as Error), text =>
    quoting.reduce((left, message) => left.replaceAll(message, () => message.replace(QUOTATION, '…')), text),
  )
}

/** The messages of class 22 of an error and of those below it: the messages and stacks above repeat them. */
function listQuoting(error: unknown, seen = new Set<unknown>()): string[] {
  if (!isErrorLike(error) || seen.has(error)) return []
  seen.add(error)
  const { code, message, cause, errors = [] } = error
  const isQuoting = typeof code === 'string' && DATA_EXCEPTION.test(code)
  const below = [cause, ...errors, ...Object.values(error)]
  return [...(isQuoting ? [message] : []), ...below.flatMap(one => listQuoting(one, seen))]
}

type ErrorLike = Error & { code?: unknown; errors?: unknown[] }

const isErrorLike = (value: unknown): value is ErrorLike =>
  typeof value === 'object' && value !== null && typeof (value as Error).message === 'string'

/** The errors below an error are serialized as well. */
function hideRows(value: unknown, hideQuoted: (text: string) => string): unknown {
  if (typeof value === 'string') return hideQuoted(value).replace(VALUES, '').replace(QUOTED, '$1')
  if (Array.isArray(value)) return value.map(one => hideRows(one, hideQuoted))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !HIDDEN.has(name))
      .map(([name, part]) => [name, hideRows(part, hideQuoted)]),
  )
}
