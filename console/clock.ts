/** The `Date` header of a server under load may be this far from the second that it names. */
const SLACK_MS = 2_000

let aheadMs = 0

/**
 * The server's time, for comparisons with times that the server sends: the clock of this computer may be minutes off.
 * Durations are measured by the computer's own clock.
 */
export const serverNow = (): number => Date.now() + aheadMs

/** Like fetch. Learns the server's time from the `Date` header of the response. */
export async function fetchTimed(...asked: Parameters<typeof fetch>): Promise<Response> {
  const askedAt = Date.now()
  const answer = await fetch(...asked)
  const serverMs = Date.parse(answer.headers.get('date') ?? '')
  // The header was written between request and response, and leaves out the fraction of its second.
  const least = serverMs - SLACK_MS - Date.now()
  const most = serverMs + 1_000 + SLACK_MS - askedAt
  // An offset within these bounds is kept, so that ages do not jump.
  if (aheadMs < least || aheadMs > most) aheadMs = (least + most) / 2
  return answer
}
