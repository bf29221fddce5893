import { serverNow } from '../clock.ts'

const BUSY: ReadonlySet<number> = new Set([429, 503])
/** Nobody looks at a page for longer that says it is tried again. */
const MAX_RETRY_AFTER_MS = 60_000
const MIN_RETRY_AFTER_MS = 1_000

/**
 * When a server that cannot answer now wants to be asked again: seconds or a date (RFC 9110, 10.2.3), and up to a fifth more, as
 * pages that were refused at once do not come back at once.
 */
export function readRetryAfter({ status, headers }: Response): number | undefined {
  if (!BUSY.has(status)) return undefined
  const value = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - serverNow()
  if (Number.isNaN(ms)) return undefined
  const bounded = Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS)
  return bounded * (1 + Math.random() / 5)
}
