import type { Queryable } from '../client.ts'

/** A sort key: an expression that is never null, and the type as which its text is read back. */
export interface Sort {
  sql: string
  type: 'text' | 'timestamptz' | 'float8' | 'uuid'
}

/** A list of records: its source, sorts and searches. */
export interface Listing {
  /** The columns of a row, without SELECT. */
  columns: string
  /**
   * The approximate size of a row: an expression that reads no value stored outside of its row, such as `storedBytes`,
   * or a number if the size is bounded.
   */
  bytes: string
  /** FROM with its joins, without the word. */
  from: string
  /** The conditions; `$n` stands for `values[n - 1]`. */
  where: string[]
  values: unknown[]
  /** The expression of the identifier, which makes the order total. */
  id: string
  sorts: { [name: string]: Sort }
  /** The expressions that a search looks into. */
  search: string[]
  /** For lists that are expensive to count: beyond this number the total is left out. */
  countUpTo?: number
}

export interface PageRequest {
  limit: number
  sort: string
  descending: boolean
  search: string | undefined
  /** Only these, wherever they are in the list. */
  ids?: string[] | undefined
  /** The sort key, as text, and the identifier of the last row of the previous page. */
  after: PageKey | undefined
}

export interface PageKey {
  key: string
  id: string
}

export interface Page<Row> {
  rows: Row[]
  /** The start of the next page; null on the last one. */
  next: PageKey | null
  total: number | undefined
}

/**
 * A page ends here, or with its first row: 500 rows of 256 KiB took 1 s of the event loop, and as much memory for every
 * caller that left them unread.
 */
const MAX_BYTES = 1024 * 1024
/** The usual expansion of compressed JSON; 1 MiB can be compressed to a ninetieth at best. */
const UNPACKED = 10

/** The size of values, computed from their stored form without reading them. */
export const storedBytes = (...columns: string[]): string =>
  columns
    .map(column => {
      const factor = `CASE WHEN pg_column_compression(${column}) IS NULL THEN 1 ELSE ${UNPACKED} END`
      return `coalesce(pg_column_size(${column}) * ${factor}, 0)`
    })
    .join(' + ')

/**
 * One page of a list by keyset, so that every page costs the same, and the total number of rows. The page has fewer
 * rows than requested if they take too many bytes.
 */
export async function readPage<Row>(
  tx: Queryable,
  listing: Listing,
  request: PageRequest,
): Promise<Page<Row>> {
  const { countUpTo = Number.POSITIVE_INFINITY } = listing
  const counted = await countMatches(tx, listing, request, countUpTo)
  const { rows, next } = await readRows<Row>(tx, listing, request)
  return { rows, next, total: counted <= countUpTo ? counted : undefined }
}

/** The number of matching rows, wherever the page begins; counted to one more than `upTo`. */
export async function countMatches(
  tx: Queryable,
  listing: Listing,
  request: Pick<PageRequest, 'search' | 'ids'>,
  upTo: number,
): Promise<number> {
  const { matching, values } = matchesOf(listing, request)
  const [counted] = await tx.query<{ total: number }>(
    upTo === Number.POSITIVE_INFINITY
      ? `SELECT count(*)::int4 AS total ${matching}`
      : `SELECT count(*)::int4 AS total FROM (SELECT 1 ${matching} LIMIT ${upTo + 1}) counted`,
    values,
  )
  return counted?.total ?? 0
}

/** The rows of a page, and the key of its last one. */
export async function readRows<Row>(
  tx: Queryable,
  listing: Listing,
  request: PageRequest,
): Promise<Omit<Page<Row>, 'total'> & { last: PageKey | null }> {
  const { matching, values } = matchesOf(listing, request)
  const sort = listing.sorts[request.sort]
  if (!sort) throw new Error(`This list has no sort ${request.sort}`)
  let beyond = ''
  if (request.after) {
    const key = `$${values.push(request.after.key)}::${sort.type}`
    const id = `$${values.push(request.after.id)}::uuid`
    beyond = `AND (${sort.sql}, ${listing.id}) ${request.descending ? '<' : '>'} (${key}, ${id})`
  }
  const direction = request.descending ? 'DESC' : 'ASC'
  const order = `"pageSort" ${direction}, "pageId" ${direction}`
  const found = await tx.query<Row & { pageKey: string; pageId: string; pageRows: number }>(
    `SELECT fitting.*, "pageSort"::text AS "pageKey" FROM (
       SELECT asked.*, (count(*) OVER ())::int4 AS "pageRows",
         sum("pageBytes") OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "bytesBefore"
       FROM (
         SELECT ${listing.columns}, ${sort.sql} AS "pageSort", ${listing.id} AS "pageId", ${listing.bytes} AS "pageBytes"
         ${matching} ${beyond}
         ORDER BY ${order} LIMIT $${values.push(request.limit + 1)}
       ) asked
     ) fitting WHERE "bytesBefore" IS NULL OR "bytesBefore" < ${MAX_BYTES} ORDER BY ${order}`,
    values,
  )
  const rows = found.slice(0, request.limit)
  const end = rows.at(-1)
  const last = end ? { key: end.pageKey, id: end.pageId } : null
  return { rows, last, next: end && end.pageRows > rows.length ? last : null }
}

/** The pattern with which ILIKE finds a text anywhere. */
export const patternOf = (search: string) => `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`

/** FROM and WHERE for the matching rows, with the values. */
function matchesOf(
  listing: Listing,
  { search, ids }: Pick<PageRequest, 'search' | 'ids'>,
): { matching: string; values: unknown[] } {
  const values = [...listing.values]
  const where = [...listing.where]
  if (ids) where.push(`${listing.id} = ANY($${values.push(ids)})`)
  if (search) {
    const pattern = `$${values.push(patternOf(search))}`
    where.push(`(${listing.search.map(column => `${column} ILIKE ${pattern}`).join(' OR ')})`)
  }
  return { matching: `FROM ${listing.from} WHERE ${where.join(' AND ') || 'true'}`, values }
}

/** Collects conditions with their values for a `Listing`: `add('h.id = ANY(?)', ids)`. */
export function conditions(): {
  where: string[]
  values: unknown[]
  add: (condition: string, value: unknown) => void
  /** Adds a value and returns its placeholder. */
  placeholder: (value: unknown) => string
} {
  const where: string[] = []
  const values: unknown[] = []
  const placeholder = (value: unknown) => `$${values.push(value)}`
  return {
    where,
    values,
    add: (condition, value) => void where.push(condition.replaceAll('?', placeholder(value))),
    placeholder,
  }
}
