import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { answered, api } from '../../api/client.ts'
import { againAfter } from '../../api/failure.ts'
import { readList } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { useNames } from '../../live/subject-names.ts'
import { useTexts } from '../../texts/texts.tsx'
import { keyOf, type Span, type Subject } from './address.ts'
import { createTrack, type HistoryPoint, isSameTrack, type Track } from './tracks.ts'

/** The API simplifies a track to this many points: one in eight seconds of a day, more in curves. */
export const MAX_POINTS = 10_000
/** When anomalies are left out, more than these were found. */
const ALL_ANOMALIES = MAX_POINTS / 4
/** Late points appear without a reload, and the current day grows. */
const STALE_MS = 60_000
/**
 * A day is read again for this long after its end: device clocks may be ahead, and points come late from places without a
 * network.
 */
const LATE_MS = 3_600_000
const ofDay = ({ to }: Span) => ({
  staleTime: STALE_MS,
  ...(to + LATE_MS > serverNow() && {
    refetchInterval: ({ state }: { state: { error: unknown } }) => againAfter(state.error) ?? STALE_MS,
  }),
})

export interface Loaded {
  subject: Subject
  track: Track
  /** Whether the track was simplified. */
  isReduced: boolean
}

const toQuery = ({ type, id }: Subject, { from, to }: Span) => ({
  ...(type === 'device' ? { deviceId: id } : type === 'user' ? { userId: id } : { vehicleId: id }),
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
})

async function readPoints(subject: Subject, span: Span, includeAnomalies: boolean, signal: AbortSignal) {
  const query = {
    ...toQuery(subject, span),
    maxPoints: MAX_POINTS,
    limit: MAX_POINTS,
    ...(includeAnomalies && { includeAnomalies: 'true' as const }),
  }
  const answer = await answered(api.GET('/api/v3/location-histories', { params: { query }, signal }))
  // A string is the response in another format.
  return typeof answer === 'string' ? [] : answer.data
}

/** Retries the failed requests only. */
const retryOf = (results: readonly { error: unknown; refetch: () => unknown }[]) => () => {
  for (const result of results) if (result.error) void result.refetch()
}

/** The tracks that are loaded so far, and the errors of the others. */
export function useTracks(subjects: readonly Subject[], span: Span) {
  return useQueries({
    queries: subjects.map(subject => ({
      queryKey: ['playback', keyOf(subject), span.from, span.to],
      ...ofDay(span),
      // Unchanged tracks keep their identity: the chart is not drawn again during a drag.
      structuralSharing: (before: unknown, now: unknown) =>
        before && isSameTrack((before as Loaded).track, (now as Loaded).track) ? before : now,
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<Loaded> => {
        const track = createTrack(await readPoints(subject, span, false, signal))
        return { subject, track, isReduced: track.count === MAX_POINTS }
      },
    })),
    combine: results => ({
      loaded: results.flatMap(({ data }) => (data ? [data] : [])),
      isPending: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error)?.error ?? null,
      retry: retryOf(results),
    }),
  })
}

/** The anomalies of all subjects. */
export function useAnomalies(subjects: readonly Subject[], span: Span, wanted: boolean) {
  return useQueries({
    queries: subjects.map(subject => ({
      queryKey: ['playback', keyOf(subject), span.from, span.to, 'anomalies'],
      enabled: wanted,
      ...ofDay(span),
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<HistoryPoint[]> =>
        (await readPoints(subject, span, true, signal)).filter(({ anomaly }) => anomaly !== null),
    })),
    combine: results => ({
      points: wanted ? results.flatMap(({ data }) => data ?? []) : [],
      isAll: results.every(({ data }) => !data || data.length <= ALL_ANOMALIES),
      isPending: wanted && results.some(({ isPending }) => isPending),
      error: wanted ? (results.find(({ error }) => error)?.error ?? null) : null,
      retry: retryOf(results),
    }),
  })
}

export type Trips = NonNullable<ReturnType<typeof useTrips>['trips'][number]>

/** The trips and stops of each subject, as far as they are loaded. */
export function useTrips(subjects: readonly Subject[], span: Span) {
  return useQueries({
    queries: subjects.map(subject => ({
      queryKey: ['playback', keyOf(subject), span.from, span.to, 'trips'],
      ...ofDay(span),
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const params = { query: toQuery(subject, span) }
        return (await answered(api.GET('/api/v3/location-histories/trips', { params, signal }))).data
      },
    })),
    combine: results => ({
      trips: results.map(({ data }) => data),
      error: results.find(({ error }) => error)?.error ?? null,
      retry: retryOf(results),
    }),
  })
}

export type FileFormat = 'gpx' | 'geojson' | 'csv'

/** Every point of the day in a file format of the API, not only the drawn ones. */
export async function readFile(
  subjects: readonly Subject[],
  span: Span,
  format: FileFormat,
  anomalies: boolean,
) {
  const ids = (type: Subject['type']) =>
    subjects
      .filter(subject => subject.type === type)
      .map(({ id }) => id)
      .join(',') || undefined
  const query = {
    deviceId: ids('device'),
    userId: ids('user'),
    vehicleId: ids('vehicle'),
    from: new Date(span.from).toISOString(),
    to: new Date(span.to).toISOString(),
    format,
    ...(anomalies && { includeAnomalies: 'true' as const }),
  }
  const request = api.GET('/api/v3/location-histories', { params: { query }, parseAs: 'blob' })
  return answered(request) as Promise<Blob>
}

/** The number of vehicles that are offered at once. */
const OFFERED_VEHICLES = 20

export function useVehicles(search: string) {
  const { may } = useWorkspace()
  const { data = [] } = useQuery({
    queryKey: ['vehicles', 'offered', search],
    enabled: may('view/vehicle'),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }): Promise<{ _id: string; name: string }[]> =>
      readList('vehicles', { search: search || undefined, limit: OFFERED_VEHICLES, sort: 'name' }, signal),
  })
  return data
}

/** The names of the chosen subjects. */
export function useChosenNames(subjects: readonly Subject[]): string[] {
  const { form } = useTexts()
  const names = useNames(subjects)
  return useMemo(() => names.map(name => (name === undefined ? '…' : (name ?? form.unknown))), [names, form])
}
