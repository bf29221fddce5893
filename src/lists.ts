import { z } from 'zod'
import { isUuid } from '../db/client.ts'
import type { Page, PageRequest, Sort } from '../db/queries/page.ts'
import { pageQuery, readPageCursor, writePageCursor } from './envelope.ts'
import { invalid } from './errors.ts'

/**
 * The query that every list takes: `limit`, `cursor`, `search`, and `sort` by one of these names, with a minus for
 * the other direction. Filters are added with `.extend`.
 */
export function listQuery<Name extends string>(sorts: { [name in Name]: Sort }, standard: Name | `-${Name}`) {
  const names = Object.keys(sorts) as Name[]
  const choices = names.flatMap(name => [name, `-${name}`] as const)
  return pageQuery.extend({
    search: z.string().max(200).optional().describe('Only what holds this text, in any case'),
    sort: z
      .enum(choices as [string, ...string[]])
      .default(standard)
      .describe('What to sort by; a minus turns it round'),
  })
}

const pageKey = z.object({ sort: z.string(), key: z.string(), id: z.uuid() })
const TIME = /^(-?infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d(:\d\d){0,2}( BC)?)$/

/** The page that a query asks for. 400 where its cursor is none of this list in this order. */
export function readPageRequest(
  query: { limit: number; cursor?: string; search?: string; sort: string },
  sorts: { [name: string]: Sort },
): PageRequest {
  const descending = query.sort.startsWith('-')
  const sort = descending ? query.sort.slice(1) : query.sort
  const after = readPageCursor(query.cursor, pageKey)
  if (after === null || (after && (after.sort !== query.sort || !fits(after.key, sorts[sort]?.type)))) {
    throw invalid('cursor', 'This is not a cursor of this list in this order.')
  }
  return { limit: query.limit, sort, descending, search: query.search || undefined, after }
}

function fits(key: string, type: Sort['type'] | undefined): boolean {
  if (type === 'timestamptz') return TIME.test(key)
  if (type === 'uuid') return isUuid(key)
  if (type === 'float8') return Number.isFinite(Number(key)) && key.trim() !== ''
  return !key.includes('\0')
}

/** A page of a list as the interface shows it. */
export function listed<Row>(found: Page<Row>, query: { limit: number; sort: string }) {
  const nextCursor = found.next && writePageCursor({ sort: query.sort, ...found.next })
  return {
    status: true as const,
    message: 'Done',
    data: found.rows,
    pagination: { limit: query.limit, nextCursor, total: found.total },
  }
}

/** The identifiers of a filter that takes several, separated by commas. What is none matches nothing. */
export function splitIds(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map(part => part.trim())
    .filter(isUuid)
}
