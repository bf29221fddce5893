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

/** As many as the interface simplifies a track to: one in eight seconds of a day, more where it turns. */
export const MAX_POINTS = 10_000
/** Where it leaves out anomalies, it leaves more than these. */
const ALL_ANOMALIES = MAX_POINTS / 4
/** What was sent late appears without loading the page again, and a day that is not over grows. */
const STALE_MS = 60_000
/** A day is read again for so long after it: devices may be ahead of the clock, and come late from where no network is. */
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
  /** Whether points were left out. */
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
  // A text is what other formats are.
  return typeof answer === 'string' ? [] : answer.data
}

/** Asks again for what failed, and for nothing else. */
const retryOf = (results: readonly { error: unknown; refetch: () => unknown }[]) => () => {
  for (const result of results) if (result.error) void result.refetch()
}

/** What was loaded of every subject so far; those that failed say why. */
export function useTracks(subjects: readonly Subject[], span: Span) {
  return useQueries({
    queries: subjects.map(subject => ({
      queryKey: ['playback', keyOf(subject), span.from, span.to],
      ...ofDay(span),
      // What is as it was is not drawn anew, under the hand of whoever drags over it.
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

/** What counts as wrong, of all of them. */
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

/** The trips and stops of each subject, as far as they are there. */
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

/** Everything of that day as the interface writes it into a file, not only what is drawn. */
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

/** How many vehicles are offered at once. */
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

/** What the chosen ones are called on the page. */
export function useChosenNames(subjects: readonly Subject[]): string[] {
  const { form } = useTexts()
  const names = useNames(subjects)
  return useMemo(() => names.map(name => (name === undefined ? '…' : (name ?? form.unknown))), [names, form])
}
