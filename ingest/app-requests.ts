import { timeOfDay } from '../db/clock.ts'
import type { Subject } from '../stream/log.ts'
import { appendInTime, type BulkServices, inPieces } from './bulk.ts'
import { decodeValues, listValues, type Parsed, rejectPayload } from './decode.ts'
import { type Fields, type Format, NoPoint } from './formats/format.ts'

/** As many as in any other request; a batch of Overland has at most 1,000. */
export const MAX_POINTS = 5_000

/**
 * An app's request: the bytes of its body, its fields if they come as a form or in the address, or why it cannot be
 * read.
 */
export interface AppRequest {
  body: Uint8Array
  /** The body as JSON, where it is so large that it was parsed in steps. */
  parsed?: Parsed
  fields: Fields | null
  unreadable: NoPoint | null
}

/**
 * Appends the points of one request of an app. Faults become rejections, because the app would send a refused request
 * forever. Resolves to whether everything is durable; false if that took too long.
 */
export async function appendAppRequest(
  format: Format,
  request: AppRequest,
  of: Subject,
  services: BulkServices,
): Promise<boolean> {
  const { body, parsed, fields, unreadable } = request
  if (body.length === 0 && !fields && format.sendsEmpty) return true
  const arrival = { subject: of.subject, receivedAt: timeOfDay(), topic: null }
  const decode = async () => {
    const values =
      unreadable ?? (fields ? [{ value: fields, index: null }] : listValues(format, body, MAX_POINTS, parsed))
    if (values instanceof NoPoint) return [rejectPayload(values, body, arrival)]
    return inPieces(values, of.organizationId, services.scheduler, piece =>
      decodeValues(format, piece, arrival),
    )
  }
  return (await appendInTime(decode, [of], services)) !== null
}
