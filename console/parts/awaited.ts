import type { UseQueryResult } from '@tanstack/react-query'

/**
 * Whether the first answer to a query is still to come. One that has failed once keeps nobody waiting: it is asked again while
 * the page shows the rest.
 */
export const isAwaited = (query: Pick<UseQueryResult, 'isLoading' | 'isFetched' | 'failureCount'>): boolean =>
  query.isLoading && !query.isFetched && query.failureCount === 0
