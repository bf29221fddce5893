import { timeOfDay } from '../db/clock.ts'
import type { Subject } from '../stream/log.ts'
import { appendInTime, type BulkServices, inPieces } from './bulk.ts'
import { decodeValues, listValues, rejectPayload } from './decode.ts'
import { type Fields, type Format, NoPoint } from './formats/format.ts'

/** A batch of Overland is 1,000 at the most; as many as a request of our own may have. */
export const MAX_POINTS = 5_000

/** What an app sent: the bytes of a body, its fields where they are a form or in the address, or why it cannot be read. */
export interface AppRequest {
  body: Uint8Array
  fields: Fields | null
  unreadable: NoPoint | null
}

/**
 * Appends what an app sent in one request. What is wrong in it becomes rejections, for the app would send it for ever.
 * Resolves to whether all of it is durable; false where that took too long.
 */
export async function appendAppRequest(
  format: Format,
  request: AppRequest,
  of: Subject,
  services: BulkServices,
): Promise<boolean> {
  const { body, fields, unreadable } = request
  if (body.length === 0 && !fields && format.sendsEmpty) return true
  const arrival = { subject: of.subject, receivedAt: timeOfDay(), topic: null }
  const decode = async () => {
    const values =
      unreadable ?? (fields ? [{ value: fields, index: null }] : listValues(format, body, MAX_POINTS))
    if (values instanceof NoPoint) return [rejectPayload(values, body, arrival)]
    return inPieces(values, of.organizationId, services.turns, piece => decodeValues(format, piece, arrival))
  }
  return (await appendInTime(decode, [of], services)) !== null
}
