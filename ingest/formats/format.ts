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
  /** How it comes over HTTP, to /ingest and its name; absent where it does not. */
  http?: OverHttp
}

export interface OverHttp {
  /** Who sends it, and what they should know: for the interface's document. */
  summary: string
  description: string
  /** A body of JSON as the app sends it. */
  example: object
  /** What the app takes as its receipt. Sent when all of its points are durable or rejected, and never before. */
  answer: string | object
  /** Whether its app shows positions of others that it is answered with, where the organization allows that. */
  answersTeam?: true
  /** Whether its fields may stand in the address or in a form as well: then it may be fetched with GET. */
  takesFields?: true
}

/** One value, or an array of them. */
export const oneOrMany = (message: unknown): readonly unknown[] =>
  Array.isArray(message) ? message : [message]

/** A number that may be written as a text; anything else as it is, to be validated later. */
export const toNumber = (value: unknown): unknown =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : value

/** A fraction of 1 as per cent; apps that do not know it send -1. */
export const toPercent = (fraction: unknown): unknown =>
  typeof fraction === 'number' ? fraction * 100 : null

export type Fields = { readonly [name: string]: unknown }

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Those of `names` that are there, as attributes of a point; null where none is. */
export function pick(fields: Fields, names: readonly string[]): Fields | null {
  const kept = names.filter(name => fields[name] !== undefined && fields[name] !== '')
  return kept.length > 0 ? Object.fromEntries(kept.map(name => [name, fields[name]])) : null
}
