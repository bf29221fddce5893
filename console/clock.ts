/** How far the answers of a server under load may be from the second that they name. */
const SLACK_MS = 2_000

let aheadMs = 0

/**
 * The server's time, for whatever is compared with what the server says: the clock of who looks may be minutes off. How long
 * something takes is measured by the computer's own.
 */
export const serverNow = (): number => Date.now() + aheadMs

/** Asks, and learns from the answer what time it is there. */
export async function fetchTimed(...asked: Parameters<typeof fetch>): Promise<Response> {
  const askedAt = Date.now()
  const answer = await fetch(...asked)
  const said = Date.parse(answer.headers.get('date') ?? '')
  // It was written in between, and the rest of its second is left out.
  const least = said - SLACK_MS - Date.now()
  const most = said + 1_000 + SLACK_MS - askedAt
  // What agrees with what is known changes nothing, so that ages do not jump.
  if (aheadMs < least || aheadMs > most) aheadMs = (least + most) / 2
  return answer
}
