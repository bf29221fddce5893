import { serverNow } from '../clock.ts'

const BUSY: ReadonlySet<number> = new Set([429, 503])
/** Nobody watches a page for longer that says it will retry. */
const MAX_RETRY_AFTER_MS = 60_000
const MIN_RETRY_AFTER_MS = 1_000

/**
 * The wait that a busy server asks for, in seconds or as a date (RFC 9110, 10.2.3). Up to a fifth is added, so that pages
 * that were refused at the same time do not all return at the same time.
 */
export function readRetryAfter({ status, headers }: Response): number | undefined {
  if (!BUSY.has(status)) return undefined
  const value = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - serverNow()
  if (Number.isNaN(ms)) return undefined
  const bounded = Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS)
  return bounded * (1 + Math.random() / 5)
}
