import { MEASURED_NAMES } from '../../../../db/measured.ts'
import { type HistorySubject, type Lines, VALUE } from '../../../../db/queries/point-lines.ts'
import { createIso } from './iso.ts'

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'latin1'))

const LNG = bytesOf(',"lng":')
const TIMESTAMP = bytesOf(',"timestamp":"')
const RECEIVED_AT = bytesOf('","receivedAt":"')
const MEASURED = MEASURED_NAMES.map(name => ({ key: bytesOf(`,"${name}":`), value: VALUE[name] }))
const ATTRIBUTES = bytesOf(',"attributes":')
const ANOMALY = bytesOf(',"anomaly":')
const NULL = bytesOf('null')
const QUOTE = 34
const CLOSING = 125

const recorded = createIso()
const received = createIso()

/** Texts that all points of a subject share: the identifier before its time, and the part after that up to the latitude. */
interface Head {
  id: Uint8Array
  subject: Uint8Array
}
const heads = new WeakMap<HistorySubject, Head>()

function headOf(subject: HistorySubject): Head {
  const known = heads.get(subject)
  if (known) return known
  const { id, type } = subject
  const head = {
    id: bytesOf(`,{"_id":"${id}_`),
    subject: bytesOf(`","subjectId":"${id}","subjectType":"${type}","lat":`),
  }
  heads.set(subject, head)
  return head
}

/** The size of a point with the longest values, without its attributes. */
const POINT_BYTES = 512
/** The usual size of a point. */
const USUAL_BYTES = 400
/** A character has at most three bytes. */
const CHARACTER_BYTES = 3

/**
 * Writes the next points, at most `most`, as the history answers them: JSON with a comma before each. Bytes are copied
 * from the lines to their destination, which takes a quarter of the time of building a text for each point (0.7 us
 * instead of 2.8).
 */
export function writeJson(lines: Lines, most: number): Buffer {
  const { text } = lines
  let out: Buffer = Buffer.allocUnsafeSlow(
    POINT_BYTES + Math.min(most, lines.count - lines.passed) * USUAL_BYTES,
  )
  let at = 0
  for (let points = 0; points < most && lines.next(); points++) {
    const { starts } = lines
    const attributes = starts[VALUE.attributes] as number
    const attributesEnd = (starts[VALUE.attributes + 1] as number) - 1
    const needed = at + POINT_BYTES + (attributesEnd - attributes) * CHARACTER_BYTES
    if (needed > out.length) out = enlarge(out, at, needed)

    const head = headOf(lines.subject)
    out.set(head.id, at)
    at += head.id.length
    at = copy(lines, VALUE.recordedAt, out, at)
    out.set(head.subject, at)
    at += head.subject.length
    at = copy(lines, VALUE.lat, out, at)
    at = put(LNG, out, at)
    at = copy(lines, VALUE.lng, out, at)
    at = put(TIMESTAMP, out, at)
    at = recorded.writeIso(lines.numberOf(VALUE.recordedAt), out, at)
    at = put(RECEIVED_AT, out, at)
    at = received.writeIso(lines.numberOf(VALUE.receivedAt), out, at)
    out[at++] = QUOTE
    for (const { key, value } of MEASURED) at = copy(lines, value, out, put(key, out, at))
    at = put(ATTRIBUTES, out, at)
    if (attributes === attributesEnd) at = put(NULL, out, at)
    else at += out.write(text.slice(attributes, attributesEnd), at, 'utf8')
    at = put(ANOMALY, out, at)
    if (lines.has(VALUE.anomaly)) {
      out[at++] = QUOTE
      at = copy(lines, VALUE.anomaly, out, at)
      out[at++] = QUOTE
    } else at = put(NULL, out, at)
    out[at++] = CLOSING
  }
  return out.subarray(0, at)
}

function enlarge(out: Buffer, used: number, needed: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, out.length * 2))
  out.copy(larger, 0, 0, used)
  return larger
}

/** For so few bytes a loop is faster than `set`. */
function put(bytes: Uint8Array, out: Uint8Array, at: number): number {
  for (let n = 0; n < bytes.length; n++) out[at + n] = bytes[n] as number
  return at + bytes.length
}

/** Copies a value from the line unchanged, or writes null. */
function copy({ text, starts }: Lines, value: number, out: Uint8Array, at: number): number {
  const from = starts[value] as number
  const length = (starts[value + 1] as number) - 1 - from
  if (length === 0) return put(NULL, out, at)
  for (let n = 0; n < length; n++) out[at + n] = text.charCodeAt(from + n)
  return at + length
}
