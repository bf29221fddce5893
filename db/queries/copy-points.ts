import type { Database } from '../client.ts'
import { toLiterals } from '../literals.ts'
import { MEASURED_NAMES } from '../measured.ts'
import { type FenceSpans, insertSpans, spanValues } from './geofence-spans.ts'
import {
  COLUMNS,
  givenColumns,
  givenRows,
  type LogPosition,
  POINT_COLUMNS,
  type PointColumns,
  STORED_COLUMNS,
  upsertProgress,
} from './points.ts'

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

/** The columns of a row of `newest_fixes` beside those of the point. */
const NEWEST = [
  ['log_offset', 'int8'],
  ['fast', 'bool'],
  ['replaced_offset', 'int8'],
] as const
const NEWEST_COLUMNS = NEWEST.map(([column]) => column).join(', ')
const REPLACED = [...POINT_COLUMNS.slice(1), 'log_partition', ...NEWEST.map(([column]) => column)]
  .map(column => `${column} = excluded.${column}`)
  .join(', ')

/** Updates the newest fixes from `given`. A row that differs from what was expected stays as it is. */
const upsertNewest = (partition: string) => `
    INSERT INTO newest_fixes AS old (${COLUMNS}, log_partition, ${NEWEST_COLUMNS})
    SELECT ${COLUMNS}, ${partition}::int4, ${NEWEST_COLUMNS} FROM given
    ON CONFLICT (subject_key) DO UPDATE SET ${REPLACED}
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
  const last = givenColumns(points).map(column => newest.index.map(index => column[index] ?? null))
  const columns = toLiterals([...last, newest.logOffset, newest.fast, newest.replacedOffset]).map(
    literal => `'${literal.replaceAll("'", "''")}'`,
  )
  const partition = `${position.partition}`
  const noted = insertSpans(spanValues(spans).map(value => `'${value}'`))
  const progress = upsertProgress(partition, position.nextOffset === null ? 'NULL' : `${position.nextOffset}`)
  await db.writer.copyIn({
    into: `points (${COPIED})`,
    rows: encodeRows(points),
    afterwards: `WITH given AS (
      SELECT ${STORED_COLUMNS}, ${NEWEST_COLUMNS} FROM ${givenRows(index => columns[index] as string, NEWEST)}
    ), newest AS (${upsertNewest(partition)}), spans AS (${noted}), progress AS (${progress})
    SELECT 1 / (count(*) = ${newest.index.length})::int4 FROM newest`,
  })
}

/** The columns of a row, in the order in which `encodeRows` writes them. */
const COPIED = `subject_key, recorded_at, received_at, ${MEASURED_NAMES.join(', ')}, position, attributes`

/** https://www.postgresql.org/docs/current/sql-copy.html: signature, no flags, no header extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const FIELDS = 5 + MEASURED_NAMES.length
/** PostgreSQL counts microseconds from 2000. */
const EPOCH_2000_MS = 946_684_800_000
/** EWKB of a point: byte order, type with the SRID flag, SRID, two doubles. */
const EWKB_BYTES = 25
const EWKB_POINT_WITH_SRID = 0x2000_0001
const WGS_84 = 4326
const JSONB_VERSION = 1
/** A row with every value except its attributes: field count, lengths, int4, two timestamps, reals, the point. */
const ROW_BYTES = 2 + FIELDS * 4 + 4 + 2 * 8 + MEASURED_NAMES.length * 4 + EWKB_BYTES

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
  const measured = MEASURED_NAMES.map(name => points[name])
  for (let index = 0; index < points.subject.length; index++) {
    at = buffer.writeInt16BE(FIELDS, at)
    at = buffer.writeInt32BE(4, at)
    at = buffer.writeInt32BE(points.subject[index] as number, at)
    writeTime(points.recordedAt[index] as number)
    writeTime(points.receivedAt[index] as number)
    for (const column of measured) writeReal(column[index] as number | null)
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
