import type { MeasuredName } from '../../db/measured.ts'
import type { Reason } from '../../stream/point.ts'

/** A fix as a format reads it: in SI units, but not yet validated. */
export interface RawFix extends Partial<Record<MeasuredName, unknown>> {
  lat: unknown
  lng: unknown
  timestamp: unknown
  attributes?: unknown
}

/** Why a value is not a point. It is a class, so that no payload can look like one. */
export class NoPoint {
  readonly reason: Reason
  readonly message: string
  constructor(reason: Reason, message: string) {
    this.reason = reason
    this.message = message
  }
}

/** The messages of one app, and how to read them. */
export interface Format {
  /** Whether a publisher may send messages to this topic; absent if the app does not use MQTT. */
  isTopic?(topic: string, publisher: { kind: 'device' | 'user'; id: string }): boolean
  /** The single values of a message, which is a JSON payload, or the body or query of a request. */
  values(message: unknown): readonly unknown[]
  /** A fix, the reason why the value is not one, or null for values that never hold a position. */
  read(value: unknown): RawFix | NoPoint | null
  /** The app sends empty payloads, which mean nothing to Fieldline. */
  sendsEmpty?: true
  /** How the app sends it over HTTP, to /ingest and the format's name; absent if it does not. */
  http?: OverHttp
}

export interface OverHttp {
  /** The summary in the OpenAPI document. */
  summary: string
  description: string
  /** A JSON body as the app sends it. */
  example: object
  /** The answer that the app accepts as a receipt. It is sent only when all points are durable or rejected. */
  answer: string | object
  /** Whether the app shows positions of others from the answer, if the organization allows it. */
  answersTeam?: true
  /** The fields that may also come in the address or a form; then GET is accepted too. */
  fields?: readonly AppField[]
}

/** A field of a request: the reader of its format and the OpenAPI document both take it from here. */
export interface AppField {
  /** The name in the document, and the other names that apps give it. */
  names: readonly [string, ...string[]]
  description: string
  /** A value as an app sends it; a field without one is left out of the example of a form. */
  example?: string
}

/** The value of a field, under the first of its names that has one. */
export const readField = (fields: Fields, { names }: AppField): unknown =>
  names.map(name => fields[name]).find(value => value !== undefined && value !== null)

/** One value, or an array of them. */
export const oneOrMany = (message: unknown): readonly unknown[] =>
  Array.isArray(message) ? message : [message]

/** Converts a number that may be written as text; other values stay as they are and are validated later. */
export const toNumber = (value: unknown): unknown =>
  typeof value === 'string' && value.trim() !== '' ? Number(value) : value

/** Converts a fraction of 1 to per cent; apps that do not know it send -1. */
export const toPercent = (fraction: unknown): unknown =>
  typeof fraction === 'number' ? fraction * 100 : null

export type Fields = { readonly [name: string]: unknown }

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The present fields among `names`, as attributes of a point; null if there are none. */
export function pick(fields: Fields, names: readonly string[]): Fields | null {
  const kept = names.filter(name => fields[name] !== undefined && fields[name] !== '')
  return kept.length > 0 ? Object.fromEntries(kept.map(name => [name, fields[name]])) : null
}
