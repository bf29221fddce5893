import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { answered, api } from '../../../api/client.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { useLive } from '../../../live/live.tsx'
import type { Shape } from '../../../map/areas.ts'
import { isAwaited } from '../../../parts/awaited.ts'

type Listed = Awaited<ReturnType<typeof readPage>>['data'][number]
/** A corner has two numbers, which the OpenAPI document does not express. */
export type Fence = Omit<Listed, 'shape'> & { shape: Shape }

/** The most that a list returns at once; an organization has at most 2,000. */
const PAGE = 500
const EVENTS = 20
const EVENTS_EVERY_MS = 1_000
const FENCES_EVERY_MS = 60_000

const readPage = (cursor: string | undefined) =>
  answered(api.GET('/api/v3/geofences', { params: { query: { limit: PAGE, sort: 'name', cursor } } }))

interface Fences {
  fences: readonly Fence[]
  /** Whether these are all geofences that the role may see, not only the first ones. */
  isWhole: boolean
  /** Whether the first of them are still to come. */
  areAwaited: boolean
}
const NONE: Omit<Fences, 'areAwaited'> = { fences: [], isWhole: false }

/** The geofences to draw. The first read shows them page by page. */
export function useFences(): Fences {
  const { may } = useWorkspace()
  const query = useQuery({
    queryKey: ['geofences', 'all'],
    meta: { everyMs: FENCES_EVERY_MS },
    enabled: may('view/geofence'),
    queryFn: async ({ client, queryKey }) => {
      const fences: Fence[] = []
      let cursor: string | undefined
      let drawn = 0
      do {
        const page = await readPage(cursor)
        fences.push(...(page.data as Fence[]))
        cursor = page.pagination.nextCursor ?? undefined
        // Every update draws all of them again: it comes when their number has doubled.
        if (fences.length >= 2 * drawn && !client.getQueryData<typeof NONE>(queryKey)?.isWhole) {
          client.setQueryData<typeof NONE>(queryKey, { fences: [...fences], isWhole: false })
          drawn = fences.length
        }
      } while (cursor)
      return { fences, isWhole: true }
    },
  })
  return { ...(query.data ?? NONE), areAwaited: isAwaited(query) }
}

/** The latest events of a geofence, updated live. */
export function useFenceEvents(geofenceId: string) {
  const queries = useQueryClient()
  const { onCrossings } = useLive()
  const { may } = useWorkspace()
  useEffect(() => {
    let [isReading, isMore, isGone] = [false, false, false]
    // One request after the other: a request that began earlier would be cancelled by the next one.
    const read = async () => {
      isMore = isReading
      if (isReading) return
      isReading = true
      do {
        isMore = false
        await queries.invalidateQueries({ queryKey: ['geofence-events'] })
        await new Promise(resolve => setTimeout(resolve, EVENTS_EVERY_MS))
      } while (isMore && !isGone)
      isReading = false
    }
    const stop = onCrossings(() => void read())
    return () => {
      isGone = true
      stop()
    }
  }, [onCrossings, queries])
  return useQuery({
    queryKey: ['geofence-events', geofenceId],
    enabled: may('view/location'),
    queryFn: async ({ signal }) => {
      const query = { geofenceId, limit: EVENTS }
      return (await answered(api.GET('/api/v3/geofence-events', { params: { query }, signal }))).data
    },
  })
}
