import type { Database, Queryable } from '../client.ts'
import { TimeoutError } from '../failures.ts'
import {
  countMatches,
  type Listing,
  type Page,
  type PageRequest,
  patternOf,
  readPage,
  readRows,
} from './page.ts'

/**
 * Pages of data records and of tasks for a database with one session (PGlite): a statement over 100,000 of them takes
 * 0.5 to 1.3 s there, no timeout ends it, and no point is acknowledged meanwhile. So the records are visited in steps,
 * each a statement with its own turn. The best rows so far take part in the next step, so that only the database
 * compares.
 */
export interface RecordsListing extends Listing {
  /** The table; its alias is `d`. */
  table: 'data_records' | 'tasks'
  /**
   * The records of the list, found by an index that ends with the identifier; `where` contains these conditions too.
   */
  of: { organizationId: string; dataTypeId?: string | undefined }
  /** The conditions that an index can answer by itself, with their values; null if there are none. */
  indexed: { where: string[]; values: unknown[] } | null
}

/** A page of data records or tasks; in steps where one statement would make everybody wait. */
export const listInSteps = <Row extends { _id: string }>(
  db: Pick<Database, 'system' | 'isOneSession'>,
  listing: RecordsListing,
  request: PageRequest,
): Promise<Page<Row>> =>
  db.isOneSession ? readRecordsInSteps(db.system, listing, request) : readPage(db.system, listing, request)

/** Each takes 5 µs if a search looks into short texts; with long texts a step has fewer. */
const STEP_ROWS = 4_000
const STEP_BYTES = 1024 * 1024
/** Up to this number, the matches of an index are read at once. */
const INDEXED_ROWS = 1_000
/** Includes the waiting for turns; a statement of PostgreSQL has 15 s without it (`postgres-lanes.ts`). */
const WITHIN_MS = 30_000

async function readRecordsInSteps<Row extends { _id: string }>(
  db: Queryable,
  listing: RecordsListing,
  request: PageRequest,
): Promise<Page<Row>> {
  const byId = listing.sorts[request.sort]?.sql === listing.id
  const { length: conditions } = listing.where
  const isPlain = !request.search && conditions === (listing.of.dataTypeId === undefined ? 1 : 2)
  if (byId && isPlain) return readPage(db, listing, request)
  const first = await findStep(db, listing, null, false)
  if (!first || !(await findStep(db, listing, first, false))) return readPage(db, listing, request)
  const few = await findByIndex(db, listing, request)
  if (few) return readPage(db, few, request)

  const deadline = performance.now() + WITHIN_MS
  const backwards = byId && request.descending
  const { countUpTo = Number.POSITIVE_INFINITY } = listing
  let total = byId && request.after ? Number.POSITIVE_INFINITY : 0
  let after = byId && request.after ? request.after.id : null
  let best: string[] = []
  let hasMore = false
  for (;;) {
    const end = await findStep(db, listing, after, backwards)
    const step = stepOf(listing, after, end, backwards, best)
    if (total <= countUpTo) {
      total += (await countMatches(db, step, request, Number.POSITIVE_INFINITY)) - best.length
    }
    const { rows, next, last } = await readRows<Row>(db, step, request)
    hasMore ||= next !== null
    best = rows.map(({ _id }) => _id)
    if (end === null || (byId && hasMore)) {
      const isCounted = end === null && total <= countUpTo
      return { rows, next: hasMore ? last : null, total: isCounted ? total : undefined }
    }
    if (performance.now() > deadline) throw new TimeoutError('Reading in steps took too long')
    after = end
  }
}

/** Read from the index alone, in 3 ms. */
const COUNTED_AT_ONCE = 20_000

/** Counts the records in steps, so that nothing waits for long. */
export async function countInSteps(
  db: Queryable,
  records: Pick<RecordsListing, 'table' | 'of'>,
  signal: AbortSignal,
): Promise<number> {
  let count = 0
  for (let after: string | null = null; ; ) {
    signal.throwIfAborted()
    const values: unknown[] = []
    const add = (value: unknown) => `$${values.push(value)}`
    const where = recordsOf(records, add)
    const [row]: { count: number; last: string | null }[] = await db.query(
      `SELECT count(*)::int4 AS count, (array_agg(id ORDER BY id DESC))[1] AS last FROM (
         SELECT d.id FROM ${records.table} d WHERE ${where} ${after === null ? '' : `AND d.id > ${add(after)}`}
         ORDER BY d.id LIMIT ${COUNTED_AT_ONCE}) counted`,
      values,
    )
    count += row?.count ?? 0
    after = row?.last ?? null
    if ((row?.count ?? 0) < COUNTED_AT_ONCE) return count
  }
}

const recordsOf = ({ of }: Pick<RecordsListing, 'of'>, add: (value: unknown) => string) =>
  `d.organization_id = ${add(of.organizationId)}
   ${of.dataTypeId === undefined ? '' : `AND d.data_type_id = ${add(of.dataTypeId)}`}`

/** The last record of the step after a record, or null if there is none. */
async function findStep(
  db: Queryable,
  listing: RecordsListing,
  after: string | null,
  backwards: boolean,
): Promise<string | null> {
  const values: unknown[] = []
  const add = (value: unknown) => `$${values.push(value)}`
  const direction = backwards ? 'DESC' : 'ASC'
  const beyond = after === null ? '' : `AND d.id ${backwards ? '<' : '>'} ${add(after)}`
  const [end] = await db.query<{ id: string }>(
    `SELECT id FROM (
       SELECT d.id, row_number() OVER step AS n, sum(octet_length(d.search)) OVER step AS bytes
       FROM ${listing.table} d WHERE ${recordsOf(listing, add)} ${beyond}
       WINDOW step AS (ORDER BY d.id ${direction} ROWS UNBOUNDED PRECEDING) ORDER BY d.id ${direction} LIMIT ${STEP_ROWS}
     ) sized WHERE n = 1 OR bytes <= ${STEP_BYTES} ORDER BY n DESC LIMIT 1`,
    values,
  )
  return end?.id ?? null
}

/** The list over the records from `after` to `end` and the best so far. `OFFSET 0` keeps conditions out of it. */
function stepOf(
  listing: RecordsListing,
  after: string | null,
  end: string | null,
  backwards: boolean,
  best: readonly string[],
): Listing {
  const values = [...listing.values]
  const add = (value: unknown) => `$${values.push(value)}`
  const within = [
    recordsOf(listing, add),
    ...(end === null ? ['false'] : [`d.id ${backwards ? '>=' : '<='} ${add(end)}`]),
    ...(after === null ? [] : [`d.id ${backwards ? '<' : '>'} ${add(after)}`]),
  ].join(' AND ')
  const from = `(
    (SELECT * FROM ${listing.table} d WHERE ${within} OFFSET 0)
    UNION ALL (SELECT * FROM ${listing.table} d
      WHERE ${recordsOf(listing, add)} AND d.id = ANY(${add(best)}::uuid[]) OFFSET 0)) d`
  return { ...listing, from, values }
}

/** The list over the matches of a search index if they are few; null if they are many, or no index helps. */
async function findByIndex(
  db: Queryable,
  listing: RecordsListing,
  { search = '' }: PageRequest,
): Promise<Listing | null> {
  const values = [...(listing.indexed?.values ?? [])]
  const add = (value: unknown) => `$${values.push(value)}`
  const conditions = [...(listing.indexed?.where ?? [])]
  // Trigrams need adjacent letters and digits.
  if (/[\p{L}\p{N}]{3}/u.test(search)) conditions.push(`d.search ILIKE ${add(patternOf(search))}`)
  if (conditions.length === 0) return null
  const found = await db.query<{ id: string }>(
    `SELECT d.id FROM ${listing.table} d WHERE ${[recordsOf(listing, add), ...conditions].join(' AND ')}
     LIMIT ${INDEXED_ROWS + 1}`,
    values,
  )
  if (found.length > INDEXED_ROWS) return null
  const ids = `$${listing.values.length + 1}`
  return {
    ...listing,
    where: [...listing.where, `d.id = ANY(${ids}::uuid[])`],
    values: [...listing.values, found.map(({ id }) => id)],
  }
}
