import type { Queryable } from '../client.ts'

/** What a list is sorted by: an expression that is never null, and the type that its text is read back as. */
export interface Sort {
  sql: string
  type: 'text' | 'timestamptz' | 'float8' | 'uuid'
}

/** A list of records: where it comes from and what may be asked of it. */
export interface Listing {
  /** The columns of a row, without SELECT. */
  columns: string
  /**
   * About how many bytes a row takes: an expression that reads no value which is stored apart from its row, such as
   * `storedBytes`, or a number where rows are bounded.
   */
  bytes: string
  /** FROM with its joins, without the word. */
  from: string
  /** The conditions that hold; `$n` stands for `values[n - 1]`. */
  where: string[]
  values: unknown[]
  /** The expression of the identifier, which makes the order total. */
  id: string
  sorts: { [name: string]: Sort }
  /** The expressions that a search looks into. */
  search: string[]
  /** Where counting is dear: beyond this many the total is left out. */
  countUpTo?: number
}

export interface PageRequest {
  limit: number
  sort: string
  descending: boolean
  search: string | undefined
  /** Only these, wherever they are in the list. */
  ids?: string[] | undefined
  /** The sort key, as text, and the identifier of the last row of the page before. */
  after: PageKey | undefined
}

export interface PageKey {
  key: string
  id: string
}

export interface Page<Row> {
  rows: Row[]
  /** Where the next page goes on, or null on the last one. */
  next: PageKey | null
  total: number | undefined
}

/**
 * A page ends here, or with its first row: 500 rows of 256 KiB took 1 s of the event loop, and as much memory for every
 * caller that left them unread.
 */
const MAX_BYTES = 1024 * 1024
/** What compressed JSON unpacks to, by its usual make; the least that 1 MiB can be compressed to is a ninetieth. */
const UNPACKED = 10

/** How many bytes values take, told from what is stored, without reading them. */
export const storedBytes = (...columns: string[]): string =>
  columns
    .map(column => {
      const factor = `CASE WHEN pg_column_compression(${column}) IS NULL THEN 1 ELSE ${UNPACKED} END`
      return `coalesce(pg_column_size(${column}) * ${factor}, 0)`
    })
    .join(' + ')

/**
 * One page of a list by keyset, so that a page costs the same however far down it is, and how many rows there are. It has
 * fewer rows than asked for where these take too many bytes.
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

/** How many rows match, wherever the page begins; counted to one more than `upTo`. */
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

/** What ILIKE finds a text by, wherever it stands. */
export const patternOf = (search: string) => `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`

/** FROM and WHERE of what matches, with the values. */
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

/** Conditions with their values, as `Listing` takes them: `add('h.id = ANY(?)', ids)`. */
export function conditions(): {
  where: string[]
  values: unknown[]
  add: (condition: string, value: unknown) => void
} {
  const where: string[] = []
  const values: unknown[] = []
  return {
    where,
    values,
    add: (condition, value) => {
      values.push(value)
      where.push(condition.replaceAll('?', `$${values.length}`))
    },
  }
}
