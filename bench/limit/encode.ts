import type { Batch } from './batches.ts'

/** PostgreSQL's binary forms of arrays and COPY rows: array_recv and copyfromparse.c. */
const INT4 = 23
const FLOAT4 = 700
const FLOAT8 = 701
const EPOCH_2000_MS = 946_684_800_000
const ARRAY_HEAD_BYTES = 20

/** The int4[], float8[] and float4[] parameters of a batch, in the order of the unnest statement. */
export function encodeArrays(batch: Batch): Uint8Array[] {
  return [
    encodeArray(batch.subject, INT4, 4, (view, at, value) => view.setInt32(at, value)),
    encodeArray(batch.recordedAt, FLOAT8, 8, setFloat8),
    encodeArray(batch.receivedAt, FLOAT8, 8, setFloat8),
    encodeArray(batch.lat, FLOAT8, 8, setFloat8),
    encodeArray(batch.lng, FLOAT8, 8, setFloat8),
    encodeArray(batch.speed, FLOAT4, 4, setFloat4),
    encodeArray(batch.heading, FLOAT4, 4, setFloat4),
    encodeArray(batch.accuracy, FLOAT4, 4, setFloat4),
    encodeArray(batch.battery, FLOAT4, 4, setFloat4),
  ]
}

const setFloat8 = (view: DataView, at: number, value: number) => view.setFloat64(at, value)
const setFloat4 = (view: DataView, at: number, value: number) => view.setFloat32(at, value)

function encodeArray(
  values: readonly number[],
  type: number,
  bytes: 4 | 8,
  set: (view: DataView, at: number, value: number) => void,
): Uint8Array {
  const buffer = Buffer.allocUnsafeSlow(ARRAY_HEAD_BYTES + values.length * (4 + bytes))
  const view = new DataView(buffer.buffer)
  // One dimension, no nulls, elements from 1 on.
  view.setInt32(0, 1)
  view.setInt32(4, 0)
  view.setInt32(8, type)
  view.setInt32(12, values.length)
  view.setInt32(16, 1)
  let at = ARRAY_HEAD_BYTES
  for (const value of values) {
    view.setInt32(at, bytes)
    set(view, at + 4, value)
    at += 4 + bytes
  }
  return buffer
}

const COPY_HEAD = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const FIELDS = 8
const ROW_BYTES = 2 + FIELDS * 4 + 4 + 8 + 8 + 4 * 4 + 25

/** A batch in the binary form of COPY, for the columns of the staging table. */
export function encodeCopy(batch: Batch): Buffer {
  const count = batch.subject.length
  const buffer = Buffer.allocUnsafeSlow(COPY_HEAD.length + count * ROW_BYTES + 2)
  COPY_HEAD.copy(buffer)
  const view = new DataView(buffer.buffer)
  let at = COPY_HEAD.length
  const field = (bytes: number) => {
    view.setInt32(at, bytes)
    at += 4 + bytes
    return at - bytes
  }
  for (let index = 0; index < count; index++) {
    view.setInt16(at, FIELDS)
    at += 2
    view.setInt32(field(4), batch.subject[index] as number)
    setTime(view, field(8), batch.recordedAt[index] as number)
    setTime(view, field(8), batch.receivedAt[index] as number)
    view.setFloat32(field(4), batch.speed[index] as number)
    view.setFloat32(field(4), batch.heading[index] as number)
    view.setFloat32(field(4), batch.accuracy[index] as number)
    view.setFloat32(field(4), batch.battery[index] as number)
    // EWKB: little endian, a point with an SRID, 4326.
    const point = field(25)
    view.setUint8(point, 1)
    view.setUint32(point + 1, 0x2000_0001, true)
    view.setUint32(point + 5, 4326, true)
    view.setFloat64(point + 9, batch.lng[index] as number, true)
    view.setFloat64(point + 17, batch.lat[index] as number, true)
  }
  view.setInt16(at, -1)
  return buffer
}

/**
 * Writes a timestamptz, which is microseconds since 2000, as two halves: a BigInt takes longer than the rest of the row.
 */
function setTime(view: DataView, at: number, ms: number): void {
  const microseconds = (ms - EPOCH_2000_MS) * 1000
  const high = Math.floor(microseconds / 2 ** 32)
  view.setInt32(at, high)
  view.setUint32(at + 4, microseconds - high * 2 ** 32)
}
