import { NoPoint } from '../formats/format.ts'
import type { ProfileReader, ReadMessage, TrackerMessage } from './profile.ts'

const UNREADABLE: ReadMessage = {
  reference: null,
  positions: [],
  skipped: null,
  unreadable: new NoPoint('bad-shape', 'The profile cannot read the message.'),
}

/**
 * Reads a message by a profile. A fault of the reader is a rejection of the message: thrown, it would end the process
 * from a will, and another broker would send the message again for ever.
 */
export function readMessage(reader: ProfileReader, message: TrackerMessage, receivedAt: number): ReadMessage {
  try {
    return reader.read(message, receivedAt)
  } catch {
    return UNREADABLE
  }
}
