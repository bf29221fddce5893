import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { answered, api } from '../../../api/client.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { useLive } from '../../../live/live.tsx'
import type { Shape } from '../../../map/areas.ts'

type Listed = Awaited<ReturnType<typeof readPage>>['data'][number]
/** A corner has two numbers, which the document of the interface does not say. */
export type Fence = Omit<Listed, 'shape'> & { shape: Shape }

/** As many as a list answers at once; an organization has at most 2,000. */
const PAGE = 500
const EVENTS = 20
const EVENTS_EVERY_MS = 1_000
const FENCES_EVERY_MS = 60_000

const readPage = (cursor: string | undefined) =>
  answered(api.GET('/api/v3/geofences', { params: { query: { limit: PAGE, sort: 'name', cursor } } }))

interface Fences {
  fences: readonly Fence[]
  /** Whether these are all that the role may see, not the first of them. */
  isWhole: boolean
}
const NONE: Fences = { fences: [], isWhole: false }

/** What there is to draw: page by page as long as they are read for the first time. */
export function useFences(): Fences {
  const { may } = useWorkspace()
  const { data } = useQuery({
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
        // Every time all are drawn anew: whenever there are twice as many.
        if (fences.length >= 2 * drawn && !client.getQueryData<Fences>(queryKey)?.isWhole) {
          client.setQueryData<Fences>(queryKey, { fences: [...fences], isWhole: false })
          drawn = fences.length
        }
      } while (cursor)
      return { fences, isWhole: true }
    },
  })
  return data ?? NONE
}

/** Who went in and out last, as it happens. */
export function useFenceEvents(geofenceId: string) {
  const queries = useQueryClient()
  const { onCrossings } = useLive()
  const { may } = useWorkspace()
  useEffect(() => {
    let [isReading, isMore, isGone] = [false, false, false]
    // One reading after the other: each that began before the last one has answered would end that.
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
