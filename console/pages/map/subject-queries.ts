import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import { againAfter, Failure } from '../../api/failure.ts'
import { findRecord } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { useLive } from '../../live/live.tsx'
import { useFormat } from '../../texts/texts.tsx'

/** The most that a list returns at once. */
const PAGE = 500
const TRAIL_POINTS = 1_000
const TRAIL_EVERY_MS = 30_000
const RECORDS_EVERY_MS = 30_000
const HUBS_EVERY_MS = 60_000
/** The refresh interval until the day has its first trip. */
const BEGUN_EVERY_MS = 5_000
/** The server counts shorter ways as no trip. */
export const TRIP_FROM_M = 100

type Hub = Awaited<ReturnType<typeof readHubs>>['data'][number]

const readHubs = (cursor: string | undefined) =>
  answered(api.GET('/api/v3/hubs', { params: { query: { limit: PAGE, sort: 'name', cursor } } }))

/** All hubs that the role may see. */
export function useHubs() {
  const { may } = useWorkspace()
  return useQuery({
    queryKey: ['hubs', 'all'],
    meta: { everyMs: HUBS_EVERY_MS },
    enabled: may('view/hub'),
    queryFn: async () => {
      const hubs: Hub[] = []
      let cursor: string | undefined
      do {
        const page = await readHubs(cursor)
        hubs.push(...page.data)
        cursor = page.pagination.nextCursor ?? undefined
      } while (cursor)
      return hubs
    },
  })
}

/** The subject whose history is read, as the live positions name it. */
function useSubjectQuery(subjectId: string | null) {
  const { fleet } = useLive()
  const type = subjectId ? fleet.find(subjectId)?.subjectType : undefined
  if (!subjectId || !type) return null
  return type === 'user' ? { userId: subjectId } : { deviceId: subjectId }
}

/** The trail of today in the organization's time zone. */
export function useTrail(subjectId: string | null, isDebounced: boolean) {
  const format = useFormat()
  const subject = useSubjectQuery(subjectId)
  return useQuery({
    queryKey: ['trail', subjectId],
    enabled: subject !== null && isDebounced,
    queryFn: async ({ signal }) => {
      const from = new Date(format.startOfDay()).toISOString()
      const query = { ...subject, from, maxPoints: TRAIL_POINTS }
      const answer = await answered(api.GET('/api/v3/location-histories', { params: { query }, signal }))
      // A string is the response in another format.
      return typeof answer === 'string' ? [] : answer.data
    },
    refetchInterval: ({ state: { error } }) => againAfter(error) ?? TRAIL_EVERY_MS,
  })
}

export function useToday(subjectId: string, isDebounced: boolean) {
  const format = useFormat()
  const subject = useSubjectQuery(subjectId)
  return useQuery({
    queryKey: ['today', subjectId],
    enabled: subject !== null && isDebounced,
    queryFn: async ({ signal }) => {
      const from = new Date(format.startOfDay()).toISOString()
      const query = { ...subject, from, to: new Date(serverNow()).toISOString() }
      return (await answered(api.GET('/api/v3/location-histories/trips', { params: { query }, signal }))).data
    },
    refetchInterval: ({ state: { data, error } }) =>
      againAfter(error) ??
      (data && data.trips.length + data.stops.length === 0 ? BEGUN_EVERY_MS : TRAIL_EVERY_MS),
  })
}

/** The records of a subject: its device, vehicle, driver and hub. */
export function useSubjectRecords(subjectId: string, isDebounced: boolean) {
  const { fleet, known, state } = useLive()
  const { may } = useWorkspace()
  // A subject that is not on the map is looked up as a device first, then as a person.
  const isAbsent = known || state.name === 'forbidden'
  const { subjectType: type = isAbsent ? 'either' : undefined, name } = fleet.find(subjectId) ?? {}
  return useQuery({
    // A new name may come with a new vehicle.
    queryKey: ['subject', subjectId, type, name],
    placeholderData: (before, query) => (query?.queryKey[1] === subjectId ? before : undefined),
    meta: { everyMs: RECORDS_EVERY_MS },
    enabled: type !== undefined && isDebounced,
    queryFn: async () => {
      const device = type !== 'user' && may('view/device') ? await findRecord('devices', subjectId) : null
      const vehicle =
        device?.vehicleId && may('view/vehicle') ? await findRecord('vehicles', device.vehicleId) : null
      const userId = type === 'user' || (type === 'either' && !device) ? subjectId : vehicle?.driverId
      const user = userId && may('view/user') ? await findRecord('users', userId) : null
      const isLookedUp = may('view/device') || may('view/user')
      if (type === 'either' && isLookedUp && !device && !user)
        throw new Failure(404, { code: 'not-found', message: '' })
      return { device, vehicle, user, hubId: vehicle?.hubId ?? device?.hubId ?? user?.hubId[0] ?? null }
    },
  })
}
