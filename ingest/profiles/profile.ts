import type { Parsed } from '../decode.ts'
import type { Fields, NoPoint, RawFix } from '../formats/format.ts'

/** A message of a tracker as it came, over MQTT or to a connection over HTTP. */
export interface TrackerMessage {
  /** The payload, or the body of the request. */
  payload: Uint8Array
  /** The payload as JSON, where it is so large that it was parsed in steps. */
  parsed?: Parsed
  /** Null over HTTP. */
  topic: string | null
  /** The client identifier as the client sent it; null over HTTP. */
  clientId: string | null
  username: string | null
  /** The fields of the address and of a form; null over MQTT. */
  query: Fields | null
}

/** One position of a message, or why it is none. */
export interface ReadPosition {
  /** The device that it names: an IMEI, a DevEUI, an identifier of another system; null if it names none. */
  reference: string | null
  /** The value that was read, for the payload of a rejection. */
  value: unknown
  /** Its index in the message, or null if the message holds one. */
  index: number | null
  fix: RawFix | NoPoint
}

/** The result of reading a message: its positions, the reason why it has none by design, or why it cannot be read. */
export interface ReadMessage {
  /** The device that the message names, also where it has no position; null if it names none, or one for each position. */
  reference: string | null
  positions: readonly ReadPosition[]
  /** A sentence: why the message has no position by design, which is no rejection; else null. */
  skipped: string | null
  /** Set if the whole message is one rejection: no JSON, too many positions, or more steps of the profile than a message may take. */
  unreadable: NoPoint | null
}

/** How messages of one kind are read. */
export interface ProfileReader {
  /** The MQTT filter of the topics on which they come. */
  readonly topic: string
  /** Never throws, and ends after a bounded number of steps. A fix without a time has the time of receipt. */
  read(message: TrackerMessage, receivedAt: number): ReadMessage
}

/** A profile of the product, written in code. */
export interface BuiltInProfile extends ProfileReader {
  readonly name: string
}
