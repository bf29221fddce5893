import type { Subject } from '../log.ts'
import { type Entry, type Point, REASONS, type Reason, type Rejection } from '../point.ts'

/**
 * The records of `<prefix>.points`, version 1. A record holds up to about a thousand entries and identifies their
 * subjects, so that readers of the topic need nothing else; docs/kafka.md describes it for other consumers.
 *
 *   version | organizations | subjects | entries            all numbers big-endian, as Kafka's own
 *
 * Binary because every point passes through it: 51 bytes for each point, 0.06 µs to write and 0.06 to read. JSON by
 * columns takes 111 bytes, 1.0 and 0.6 µs, and JSON by rows 239 bytes, 1.6 and 1.2 µs (Node 20, records of 1,000).
 */
export const VERSION = 1

/** The record cannot be read: another version, or bytes that are no record. */
export class UnreadableRecord extends Error {}

const REJECTION = 0x80
const SPEED = 0x01
const HEADING = 0x02
const ACCURACY = 0x04
const ALTITUDE = 0x08
const BATTERY = 0x10
const ATTRIBUTES = 0x20
const UNUSED = 0x40
const INDEX = 0x01
const TOPIC = 0x02
const PAYLOAD = 0x04

/** Stands for a subject of unknown identity: points do not wait until it is known. */
const UNKNOWN = 0
const KINDS = ['unknown', 'user', 'device'] as const

const HIGH = 2 ** 32
/** The longest entry without its texts. */
const FIXED_BYTES = 64
const UTF8_BYTES_PER_CHARACTER = 3

/** Collects entries of one partition and writes them as one record. */
export interface RecordWriter {
  readonly entries: number
  /** The bytes of the record so far. */
  readonly bytes: number
  /** `subjects` identify the entry's subject. */
  add(entry: Entry, subjects: readonly Subject[]): void
  /** Returns the record and empties the writer. */
  finish(): Buffer
}

export function createRecordWriter(): RecordWriter {
  let body = Buffer.allocUnsafe(64 * 1024)
  let view = new DataView(body.buffer, body.byteOffset, body.length)
  let at = 0
  let entries = 0
  let headerBytes = 0
  const places = new Map<number, number>()
  const subjects: { key: number; subject: Subject | undefined }[] = []
  const organizations = new Map<string, number>()

  function reserve(bytes: number): void {
    if (at + bytes <= body.length) return
    const larger = Buffer.allocUnsafe(Math.max(body.length * 2, at + bytes))
    body.copy(larger, 0, 0, at)
    body = larger
    view = new DataView(body.buffer, body.byteOffset, body.length)
  }

  function placeOf(key: number, among: readonly Subject[]): number {
    const known = places.get(key)
    if (known !== undefined) return known
    const subject = among.find(({ subject }) => subject === key)
    const place = subjects.push({ key, subject }) - 1
    places.set(key, place)
    headerBytes += subject ? 23 : 5
    if (subject && !organizations.has(subject.organizationId)) {
      organizations.set(subject.organizationId, organizations.size)
      headerBytes += 16
    }
    return place
  }

  function writeInteger(value: number): void {
    view.setInt32(at, Math.floor(value / HIGH))
    view.setUint32(at + 4, value)
    at += 8
  }

  /** Writes a number unless it is null. Returns the flag to set, or 0. */
  function writeFloat(value: number | null, flag: number): number {
    if (value === null) return 0
    view.setFloat32(at, value)
    at += 4
    return flag
  }

  function writeText(text: string): void {
    const length = body.write(text, at + 4)
    view.setUint32(at, length)
    at += 4 + length
  }

  function addPoint(point: Point, place: number): void {
    reserve(FIXED_BYTES + (point.attributes?.length ?? 0) * UTF8_BYTES_PER_CHARACTER)
    const flagsAt = at
    view.setUint16(at + 1, place)
    at += 3
    writeInteger(point.recordedAt)
    writeInteger(point.receivedAt)
    view.setFloat64(at, point.lat)
    view.setFloat64(at + 8, point.lng)
    at += 16
    const { speed, heading, accuracy, altitude, battery, attributes } = point
    const flags =
      writeFloat(speed, SPEED) |
      writeFloat(heading, HEADING) |
      writeFloat(accuracy, ACCURACY) |
      writeFloat(altitude, ALTITUDE) |
      writeFloat(battery, BATTERY) |
      (attributes === null ? 0 : ATTRIBUTES)
    if (attributes !== null) writeText(attributes)
    body[flagsAt] = flags
  }

  function addRejection(rejection: Rejection, place: number): void {
    const { reason, message, index, topic, payload } = rejection
    const characters = reason.length + message.length + (topic?.length ?? 0) + (payload?.length ?? 0)
    reserve(FIXED_BYTES + characters * UTF8_BYTES_PER_CHARACTER)
    body[at] =
      REJECTION |
      (index === null ? 0 : INDEX) |
      (topic === null ? 0 : TOPIC) |
      (payload === null ? 0 : PAYLOAD)
    view.setUint16(at + 1, place)
    at += 3
    writeInteger(rejection.receivedAt)
    writeText(reason)
    writeText(message)
    if (index !== null) {
      view.setInt32(at, index)
      at += 4
    }
    if (topic !== null) writeText(topic)
    if (payload !== null) writeText(payload)
  }

  function writeHeader(): Buffer {
    const header = Buffer.allocUnsafe(7 + headerBytes)
    header[0] = VERSION
    let next = header.writeUInt16BE(organizations.size, 1)
    for (const id of organizations.keys()) next += writeUuid(header, id, next)
    next = header.writeUInt16BE(subjects.length, next)
    for (const { key, subject } of subjects) {
      next = header.writeInt32BE(key, next)
      next = header.writeUInt8(subject ? KINDS.indexOf(subject.kind) : UNKNOWN, next)
      if (!subject) continue
      next += writeUuid(header, subject.id, next)
      next = header.writeUInt16BE(organizations.get(subject.organizationId) as number, next)
    }
    header.writeUInt16BE(entries, next)
    return header
  }

  return {
    get entries() {
      return entries
    },
    get bytes() {
      return 7 + headerBytes + at
    },
    add(entry, among) {
      const place = placeOf(entry.subject, among)
      if (entry.kind === 'point') addPoint(entry, place)
      else addRejection(entry, place)
      entries++
    },
    finish() {
      const record = Buffer.concat([writeHeader(), body.subarray(0, at)])
      at = 0
      entries = 0
      headerBytes = 0
      places.clear()
      subjects.length = 0
      organizations.clear()
      return record
    },
  }
}

/** Reads a record. Throws an UnreadableRecord that says why it cannot be read. */
export function readRecord(record: Buffer): { subjects: (Subject | number)[]; entries: Entry[] } {
  try {
    return createReader(record)()
  } catch (error) {
    if (error instanceof UnreadableRecord) throw error
    // A read beyond the end, or a text that is not valid UTF-8.
    throw new UnreadableRecord(`The record is cut or damaged: ${(error as Error).message}`)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function createReader(record: Buffer) {
  const view = new DataView(record.buffer, record.byteOffset, record.length)
  let at = 0

  function readInteger(): number {
    const value = view.getInt32(at) * HIGH + view.getUint32(at + 4)
    at += 8
    return value
  }

  function readFloat(): number {
    at += 4
    return view.getFloat32(at - 4)
  }

  function readCount(): number {
    at += 2
    return view.getUint16(at - 2)
  }

  function readText(): string {
    const from = at + 4
    const to = from + view.getUint32(at)
    if (to > record.length) throw new UnreadableRecord('A text ends after the record')
    at = to
    return utf8.decode(record.subarray(from, to))
  }

  function readUuid(): string {
    if (at + 16 > record.length) throw new UnreadableRecord('An identifier ends after the record')
    const hex = record.toString('hex', at, at + 16)
    at += 16
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }

  function readSubject(organizations: readonly string[]): Subject | number {
    const subject = view.getInt32(at)
    const kind = KINDS[view.getUint8(at + 4)]
    at += 5
    if (kind === undefined) throw new UnreadableRecord('A subject is neither user nor device')
    if (kind === 'unknown') return subject
    const id = readUuid()
    const organizationId = organizations[readCount()]
    if (organizationId === undefined) throw new UnreadableRecord('An organization is missing')
    return { kind, id, organizationId, subject }
  }

  function readPoint(flags: number, subject: number): Point {
    const recordedAt = readInteger()
    const receivedAt = readInteger()
    const lat = view.getFloat64(at)
    const lng = view.getFloat64(at + 8)
    at += 16
    return {
      kind: 'point',
      subject,
      recordedAt,
      receivedAt,
      lat,
      lng,
      speed: flags & SPEED ? readFloat() : null,
      heading: flags & HEADING ? readFloat() : null,
      accuracy: flags & ACCURACY ? readFloat() : null,
      altitude: flags & ALTITUDE ? readFloat() : null,
      battery: flags & BATTERY ? readFloat() : null,
      attributes: flags & ATTRIBUTES ? readText() : null,
    }
  }

  function readRejection(flags: number, subject: number): Rejection {
    const receivedAt = readInteger()
    const reason = readText() as Reason
    if (!REASONS.includes(reason)) throw new UnreadableRecord(`There is no reason "${reason}"`)
    const message = readText()
    let index: number | null = null
    if (flags & INDEX) {
      index = view.getInt32(at)
      at += 4
    }
    const topic = flags & TOPIC ? readText() : null
    const payload = flags & PAYLOAD ? readText() : null
    return { kind: 'rejection', subject, receivedAt, reason, message, index, topic, payload }
  }

  return () => {
    const version = view.getUint8(0)
    if (version !== VERSION)
      throw new UnreadableRecord(`The record has version ${version}, known is ${VERSION}`)
    at = 1
    const organizations = Array.from({ length: readCount() }, readUuid)
    const subjects = Array.from({ length: readCount() }, () => readSubject(organizations))
    const keys = subjects.map(subject => (typeof subject === 'number' ? subject : subject.subject))
    const entries: Entry[] = new Array(readCount())
    for (let index = 0; index < entries.length; index++) {
      const flags = view.getUint8(at)
      const subject = keys[view.getUint16(at + 1)]
      if (subject === undefined) throw new UnreadableRecord('An entry is of no subject of the record')
      at += 3
      if (flags & UNUSED) throw new UnreadableRecord('An entry has a flag that this version does not know')
      entries[index] = flags & REJECTION ? readRejection(flags, subject) : readPoint(flags, subject)
    }
    if (at !== record.length) throw new UnreadableRecord('The record is longer than its entries')
    return { subjects, entries }
  }
}

function writeUuid(to: Buffer, id: string, at: number): number {
  if (to.write(id.replaceAll('-', ''), at, 16, 'hex') !== 16) throw new Error(`${id} is no identifier`)
  return 16
}
