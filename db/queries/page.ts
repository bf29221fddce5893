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

/** One page of a list by keyset, so that a page costs the same however far down it is, and how many rows there are. */
export async function readPage<Row>(
  tx: Queryable,
  listing: Listing,
  request: PageRequest,
): Promise<Page<Row>> {
  const values = [...listing.values]
  const where = [...listing.where]
  if (request.search) {
    values.push(`%${request.search.replaceAll(/[\\%_]/g, '\\$&')}%`)
    where.push(`(${listing.search.map(column => `${column} ILIKE $${values.length}`).join(' OR ')})`)
  }
  const matching = `FROM ${listing.from} WHERE ${where.join(' AND ') || 'true'}`
  const { countUpTo = Number.POSITIVE_INFINITY } = listing
  const [counted] = await tx.query<{ total: number }>(
    countUpTo === Number.POSITIVE_INFINITY
      ? `SELECT count(*)::int4 AS total ${matching}`
      : `SELECT count(*)::int4 AS total FROM (SELECT 1 ${matching} LIMIT ${countUpTo + 1}) counted`,
    values,
  )
  const total = counted && counted.total <= countUpTo ? counted.total : undefined

  const sort = listing.sorts[request.sort]
  if (!sort) throw new Error(`This list has no sort ${request.sort}`)
  if (request.after) {
    const key = `$${values.push(request.after.key)}::${sort.type}`
    const id = `$${values.push(request.after.id)}::uuid`
    where.push(`(${sort.sql}, ${listing.id}) ${request.descending ? '<' : '>'} (${key}, ${id})`)
  }
  const direction = request.descending ? 'DESC' : 'ASC'
  const found = await tx.query<Row & { pageKey: string; pageId: string }>(
    `SELECT ${listing.columns}, (${sort.sql})::text AS "pageKey", ${listing.id} AS "pageId"
     FROM ${listing.from} WHERE ${where.join(' AND ') || 'true'}
     ORDER BY ${sort.sql} ${direction}, ${listing.id} ${direction} LIMIT $${values.push(request.limit + 1)}`,
    values,
  )
  const rows = found.slice(0, request.limit)
  const last = rows.at(-1)
  const next = found.length > request.limit && last ? { key: last.pageKey, id: last.pageId } : null
  return { rows, next, total }
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
