import type { NoPoint } from '../formats/format.ts'
import { refuse } from '../profiles/payload.ts'
import type { TrackerMessage } from '../profiles/profile.ts'
import type { TrackerConnection } from './connection.ts'
import type { Intake, Sender } from './intake.ts'

/** How long a request waits for its points before its sender is asked to try again; as `bulk.ts`. */
const WAIT_MS = 10_000

/**
 * Stores the message of one request. Resolves to whether all of it is durable or rejected; false if that took too long.
 * A body that was refused (`unreadable`) is a rejection, and nothing reads it.
 */
export async function takeRequest(
  intake: Intake,
  connection: TrackerConnection,
  message: TrackerMessage,
  unreadable: NoPoint | null,
): Promise<boolean> {
  const sender: Sender = { ended: false }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(() => {
      sender.ended = true
      resolve(false)
    }, WAIT_MS)
  })
  const taken = unreadable
    ? { message, receivedAt: intake.now(), read: refuse(null, unreadable) }
    : intake.read(connection, message)
  const stored = intake.store(connection, [taken], sender, 'http').then(() => true)
  // A late end no longer matters, because the request has been answered.
  stored.catch(() => {})
  return await Promise.race([stored, late]).finally(() => clearTimeout(timer))
}
