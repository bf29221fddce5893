import type { Database } from '../client.ts'
import { toLiterals } from '../literals.ts'
import { type FenceSpans, insertSpans, spanValues } from './geofence-spans.ts'
import { COLUMNS, type LogPosition, type PointColumns, upsertProgress } from './points.ts'

/**
 * The last point of each subject in a batch, by its index in the columns, and the new values of its row of
 * `newest_fixes`.
 */
export interface NewestColumns {
  index: number[]
  logOffset: number[]
  /** Whether the speed from the previous point exceeds 100 m/s. */
  fast: boolean[]
  /** The `log_offset` that the row is expected to have until then; null if no row is expected. */
  replacedOffset: (number | null)[]
}

/** Updates the newest fixes from `given`. A row that differs from what was expected stays as it is. */
const upsertNewest = (partition: string) => `
    INSERT INTO newest_fixes AS old (${COLUMNS}, log_partition, log_offset, fast, replaced_offset)
    SELECT ${COLUMNS}, ${partition}::int4, log_offset, fast, replaced_offset FROM given
    ON CONFLICT (subject_key) DO UPDATE SET
      recorded_at = excluded.recorded_at, received_at = excluded.received_at, position = excluded.position,
      speed = excluded.speed, heading = excluded.heading, accuracy = excluded.accuracy,
      altitude = excluded.altitude, battery = excluded.battery, attributes = excluded.attributes,
      log_partition = excluded.log_partition, log_offset = excluded.log_offset, fast = excluded.fast,
      replaced_offset = excluded.replaced_offset
    WHERE old.log_offset = excluded.replaced_offset
    RETURNING 1`

/**
 * Stores points that are all new and of which none is an anomaly: COPY in PostgreSQL's binary format straight into the
 * table, with the newest fixes and the log's position, in one round trip and transaction. It is 1.5 to 3 times as fast
 * as `insertPoints`, more with larger batches (docs/decisions/0004-copy-what-is-new.md). It cannot handle exceptions:
 * if a point exists after all, the unique index rejects the whole batch (23505); if another writer has stored points of
 * a subject meanwhile, fewer rows are updated than given, and a division by zero (22012) rejects the batch. Then
 * `insertPoints` must store it.
 */
export async function copyPoints(
  db: Database,
  points: PointColumns,
  newest: NewestColumns,
  position: LogPosition,
  spans: FenceSpans,
): Promise<void> {
  const pick = <T>(column: readonly T[]) => newest.index.map(index => column[index] as T)
  const columns = toLiterals([
    pick(points.subject),
    pick(points.recordedAt),
    pick(points.receivedAt),
    pick(points.lat),
    pick(points.lng),
    pick(points.speed),
    pick(points.heading),
    pick(points.accuracy),
    pick(points.altitude),
    pick(points.battery),
    pick(points.attributes),
    newest.logOffset,
    newest.fast,
    newest.replacedOffset,
  ]).map(literal => `'${literal.replaceAll("'", "''")}'`)
  const partition = `${position.partition}`
  const noted = insertSpans(spanValues(spans).map(value => `'${value}'`))
  const progress = upsertProgress(partition, position.nextOffset === null ? 'NULL' : `${position.nextOffset}`)
  await db.writer.copyIn({
    into: `points (${COPIED})`,
    rows: encodeRows(points),
    afterwards: `WITH given AS (
      SELECT subject_key, to_timestamp(recorded_ms / 1000) AS recorded_at,
        to_timestamp(received_ms / 1000) AS received_at, ST_SetSRID(ST_MakePoint(lng, lat), 4326) AS position,
        speed, heading, accuracy, altitude, battery, attributes, log_offset, fast, replaced_offset
      FROM unnest(${TYPES.map((type, index) => `${columns[index]}::${type}[]`).join(', ')})
        AS g(subject_key, recorded_ms, received_ms, lat, lng, speed, heading, accuracy, altitude, battery, attributes,
          log_offset, fast, replaced_offset)
    ), newest AS (${upsertNewest(partition)}), spans AS (${noted}), progress AS (${progress})
    SELECT 1 / (count(*) = ${newest.index.length})::int4 FROM newest`,
  })
}

const COPIED =
  'subject_key, recorded_at, received_at, speed, heading, accuracy, altitude, battery, position, attributes'
const TYPES = [
  'int4',
  'float8',
  'float8',
  'float8',
  'float8',
  'float4',
  'float4',
  'float4',
  'float4',
  'float4',
  'jsonb',
  'int8',
  'bool',
  'int8',
]

/** https://www.postgresql.org/docs/current/sql-copy.html: signature, no flags, no header extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const FIELDS = 10
/** PostgreSQL counts microseconds from 2000. */
const EPOCH_2000_MS = 946_684_800_000
/** EWKB of a point: byte order, type with the SRID flag, SRID, two doubles. */
const EWKB_BYTES = 25
const EWKB_POINT_WITH_SRID = 0x2000_0001
const WGS_84 = 4326
const JSONB_VERSION = 1
/** A row with every value except its attributes: field count, lengths, int4, two timestamps, five reals, the point. */
const ROW_BYTES = 2 + FIELDS * 4 + 4 + 2 * 8 + 5 * 4 + EWKB_BYTES

function encodeRows(points: PointColumns): Buffer {
  let bytes = HEADER.length + 2 + points.subject.length * ROW_BYTES
  for (const text of points.attributes) if (text !== null) bytes += 1 + Buffer.byteLength(text)
  // Not from Node's pool: the buffer is passed to the thread of the embedded database.
  const buffer = Buffer.allocUnsafeSlow(bytes)
  let at = HEADER.copy(buffer)

  const writeTime = (ms: number) => {
    at = buffer.writeInt32BE(8, at)
    // Written in two halves: as a BigInt, a time took a fifth of the time for a row. Exact up to 2^53 µs, the year
    // 2285.
    const microseconds = (ms - EPOCH_2000_MS) * 1000
    const high = Math.floor(microseconds / 2 ** 32)
    at = buffer.writeInt32BE(high, at)
    at = buffer.writeUInt32BE(microseconds - high * 2 ** 32, at)
  }
  const writeReal = (value: number | null) => {
    at = buffer.writeInt32BE(value === null ? -1 : 4, at)
    if (value !== null) at = buffer.writeFloatBE(value, at)
  }
  for (let index = 0; index < points.subject.length; index++) {
    at = buffer.writeInt16BE(FIELDS, at)
    at = buffer.writeInt32BE(4, at)
    at = buffer.writeInt32BE(points.subject[index] as number, at)
    writeTime(points.recordedAt[index] as number)
    writeTime(points.receivedAt[index] as number)
    writeReal(points.speed[index] as number | null)
    writeReal(points.heading[index] as number | null)
    writeReal(points.accuracy[index] as number | null)
    writeReal(points.altitude[index] as number | null)
    writeReal(points.battery[index] as number | null)
    at = buffer.writeInt32BE(EWKB_BYTES, at)
    at = buffer.writeUInt8(1, at)
    at = buffer.writeUInt32LE(EWKB_POINT_WITH_SRID, at)
    at = buffer.writeUInt32LE(WGS_84, at)
    at = buffer.writeDoubleLE(points.lng[index] as number, at)
    at = buffer.writeDoubleLE(points.lat[index] as number, at)
    const attributes = points.attributes[index] as string | null
    if (attributes === null) {
      at = buffer.writeInt32BE(-1, at)
    } else {
      const length = buffer.write(attributes, at + 5)
      buffer.writeInt32BE(length + 1, at)
      buffer[at + 4] = JSONB_VERSION
      at += 5 + length
    }
  }
  at = buffer.writeInt16BE(-1, at)
  return buffer.subarray(0, at)
}
