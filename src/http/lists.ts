import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import type { Page, PageRequest, Sort } from '../../db/queries/page.ts'
import { isSortKey, readCursor, writeCursor } from './cursors.ts'
import { page, pageQuery } from './envelope.ts'

/**
 * The query that every list accepts: `limit`, `cursor`, `search`, `_id`, and `sort` by one of these names, with a minus
 * for the other direction. Filters are added with `.extend`.
 */
export function listQuery<Name extends string>(sorts: { [name in Name]: Sort }, standard: Name | `-${Name}`) {
  const names = Object.keys(sorts) as Name[]
  const choices = names.flatMap(name => [name, `-${name}`] as const)
  return pageQuery.extend({
    search: z
      .string()
      .max(200)
      .optional()
      .describe('Only records that contain this text, in upper or lower case'),
    _id: z.string().optional().describe('Only these, separated by commas'),
    sort: z
      .enum(choices as [string, ...string[]])
      .default(standard)
      .describe('The field to sort by; a minus sorts downwards'),
  })
}

/** The page that a query asks for. Throws 400 if its cursor does not belong to this list in this order. */
export function readPageRequest(
  query: { limit: number; cursor?: string; search?: string; _id?: string; sort: string },
  sorts: { [name: string]: Sort },
): PageRequest {
  const descending = query.sort.startsWith('-')
  const sort = descending ? query.sort.slice(1) : query.sort
  const type = sorts[sort]?.type ?? 'text'
  const keys = z.object({
    sort: z.literal(query.sort),
    key: z.string().refine(key => isSortKey(key, type)),
    id: z.string().refine(isUuid),
  })
  const after = readCursor(query.cursor, keys) ?? undefined
  const { limit, search = '', _id } = query
  return { limit, sort, descending, search: search || undefined, ids: splitIds(_id), after }
}

/** A page of a list as the interface shows it. */
export function listed<Row>(found: Page<Row>, query: { limit: number; sort: string }) {
  const nextCursor = found.next && writeCursor({ sort: query.sort, ...found.next })
  return {
    status: true as const,
    message: 'Done',
    data: found.rows,
    pagination: { limit: query.limit, nextCursor, total: found.total },
  }
}

/** A list without further pages, as the interface shows it. */
export function listedWhole<Row>(rows: Row[]) {
  return page(rows, { limit: rows.length, nextCursor: null, total: rows.length })
}

/**
 * The identifiers of a filter that accepts several, separated by commas. Texts that are no identifiers match nothing
 * and are dropped.
 */
export function splitIds(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map(part => part.trim())
    .filter(isUuid)
}
