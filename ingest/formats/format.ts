import type { Reason } from '../../stream/point.ts'

/** A fix as a format reads it: SI units, but every value as it was sent and not yet validated. */
export interface RawFix {
  lat: unknown
  lng: unknown
  timestamp: unknown
  speed?: unknown
  heading?: unknown
  accuracy?: unknown
  altitude?: unknown
  battery?: unknown
  attributes?: unknown
}

/** Why there is no point. A class, so that no payload can look like one. */
export class NoPoint {
  readonly reason: Reason
  readonly message: string
  constructor(reason: Reason, message: string) {
    this.reason = reason
    this.message = message
  }
}

/** What an app sends, and what it means. */
export interface Format {
  /** Whether a publisher may send it to a topic; absent where the app knows no MQTT. */
  isTopic?(topic: string, publisher: { kind: 'device' | 'user'; id: string }): boolean
  /** The single values of a message: a payload of JSON, the body or the query of a request. */
  values(message: unknown): readonly unknown[]
  /** A fix, why it is none, or null for what has no position by design. */
  read(value: unknown): RawFix | NoPoint | null
  /** An empty payload means something to its app, and nothing here. */
  sendsEmpty?: true
}

/** One value, or an array of them. */
export const oneOrMany = (message: unknown): readonly unknown[] =>
  Array.isArray(message) ? message : [message]
