import { useInfiniteQuery } from '@tanstack/react-query'

/** What others have changed meanwhile appears while somebody looks. */
const EVERY_MS = 60_000
/** What a screen shows at first; whoever goes on wants more, and the end of 10,000 is 23 pages away. */
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

/** A page of it, for as long as somebody wants that. */
export type ReadPage<Query, P> = (query: Query, signal: AbortSignal) => Promise<P>

/** A list of the interface, page by page; while the next one is asked for another search or order the one before stays. */
export function useList<P extends Page<unknown>>(queryKey: readonly unknown[], read: ReadPage<PageQuery, P>) {
  return useInfiniteQuery({
    queryKey,
    meta: { everyMs: EVERY_MS },
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: { limit: FIRST_ROWS } as PageQuery,
    getNextPageParam: ({ pagination: { nextCursor: cursor } }, { length }) =>
      cursor === null ? undefined : { cursor, limit: Math.min(FIRST_ROWS * 2 ** length, MAX_ROWS) },
    placeholderData: before => before,
  })
}

/** The order that an address asks for, where the columns have it: `-name` is from the end. */
export function orderOf<Sort extends string>(
  asked: string | null,
  columns: readonly { sort?: Sort | undefined }[],
  usual: Sort | `-${Sort}`,
): Sort | `-${Sort}` {
  const name = asked?.replace(/^-/, '')
  return name && columns.some(({ sort }) => sort === name) ? (asked as Sort) : usual
}
