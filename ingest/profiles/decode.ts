import type { Entry } from '../../stream/point.ts'
import { type Arrival, rejectPayload, validate } from '../decode.ts'
import type { ProfileReader, TrackerMessage } from './profile.ts'
import { readMessage } from './read-message.ts'

/**
 * Decodes a message of a tracker that is known by its credential: all its positions are the tracker's, whatever
 * references it carries. `onSkipped` hears why a message has no position by design. An empty message clears a broker's retained one and means nothing.
 */
export function decodeTracker(
  reader: ProfileReader,
  message: TrackerMessage,
  arrival: Arrival,
  onSkipped: (why: string) => void = () => {},
): Entry[] {
  if (message.payload.length === 0 && !message.query) return []
  const { positions, skipped, unreadable } = readMessage(reader, message, arrival.receivedAt)
  if (unreadable) return [rejectPayload(unreadable, message.payload, arrival)]
  if (skipped !== null) onSkipped(skipped)
  return positions.map(({ value, fix, index }) => validate(value, fix, arrival, index))
}
