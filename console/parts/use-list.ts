import { useInfiniteQuery } from '@tanstack/react-query'

/** Changes by others appear at this interval. */
const EVERY_MS = 60_000
/** Enough for the first screen. Each page doubles: the end of 10,000 records is 23 pages away. */
const FIRST_ROWS = 50
const MAX_ROWS = 500

export interface Page<T> {
  data: T[]
  pagination: { nextCursor: string | null; total?: number | undefined }
}

export interface PageQuery {
  cursor?: string | undefined
  limit: number
}

/** Reads one page of a list. */
export type ReadPage<Query, P> = (query: Query, signal: AbortSignal) => Promise<P>

/** A list of the API that is read page by page. A new search or order shows the previous rows until its own are there. */
export function useList<P extends Page<unknown>>(
  queryKey: readonly unknown[],
  read: ReadPage<PageQuery, P>,
  everyMs = EVERY_MS,
) {
  return useInfiniteQuery({
    queryKey,
    meta: { everyMs },
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: { limit: FIRST_ROWS } as PageQuery,
    getNextPageParam: ({ pagination: { nextCursor: cursor } }, { length }) =>
      cursor === null ? undefined : { cursor, limit: Math.min(FIRST_ROWS * 2 ** length, MAX_ROWS) },
    placeholderData: before => before,
  })
}

/** The sort order of an address if a column has it, else the usual one. `-name` is descending. */
export function orderOf<Sort extends string>(
  asked: string | null,
  columns: readonly { sort?: Sort | undefined }[],
  usual: Sort | `-${Sort}`,
): Sort | `-${Sort}` {
  const name = asked?.replace(/^-/, '')
  return name && columns.some(({ sort }) => sort === name) ? (asked as Sort) : usual
}
