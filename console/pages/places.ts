import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../api/client.ts'
import { readBasemapSetting } from '../map/basemap-setting.ts'

interface Point {
  lat: number
  lng: number
}

export type NamedPlace = Awaited<ReturnType<typeof readPlaces>>[number]

/** The number of points that the server describes in one answer. */
const BATCH = 100
/** A day with more has its first places in words. */
const MAX_PLACES = 400
/** Four digits of a degree are eleven metres. */
const DIGITS = 4
/** Somebody who moves is asked about again after so much of a degree, 55 m. */
const CELLS_PER_DEGREE = 2_000

const keyOf = ({ lat, lng }: Point) => `${lat.toFixed(DIGITS)} ${lng.toFixed(DIGITS)}`
/** Whether the server can say in words where something is. */
export const hasWords = () => readBasemapSetting()?.vector === true

async function readPlaces(points: Point[], signal: AbortSignal) {
  const body = { points: points.map(({ lat, lng }) => ({ lat, lng })) }
  return (await answered(api.POST('/api/v3/places', { body, signal }))).data
}

/** Where a moving subject is in words: its last ones until those of its new place have come. */
export function usePlace(subjectId: string, point: Point, isWanted: boolean): string {
  const cell = [point.lat, point.lng].map(degrees => Math.round(degrees * CELLS_PER_DEGREE))
  const { data } = useQuery({
    queryKey: ['place', subjectId, ...cell],
    enabled: isWanted && hasWords(),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    placeholderData: (before: string | undefined, query) =>
      query?.queryKey[1] === subjectId ? before : undefined,
    queryFn: async ({ signal }): Promise<string> => (await readPlaces([point], signal))[0]?.name ?? '',
  })
  return data ?? ''
}

/** The names of cells, by the basemap's version and the cell, the last ones asked. */
const named = new Map<string, NamedPlace>()
const MAX_KEPT = 2_000

/** The cell of a point, within which a moving one keeps its words. */
export const cellOf = ({ lat, lng }: Point): string =>
  `${readBasemapSetting()?.version} ${[lat, lng].map(one => Math.round(one * CELLS_PER_DEGREE) / CELLS_PER_DEGREE).join(' ')}`

/** Where cells are in words, at most 100 of those that are not known yet. Undefined for a cell that is not known. */
export function useCells(cells: readonly string[]): (cell: string) => NamedPlace | undefined {
  const unknown = [...new Set(cells)].filter(cell => !named.has(cell)).slice(0, BATCH)
  useQuery({
    queryKey: ['cells', ...unknown],
    enabled: unknown.length > 0 && hasWords(),
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const points = unknown.map(cell => {
        const [, lat, lng] = cell.split(' ').map(Number) as [number, number, number]
        return { lat, lng }
      })
      const places = await readPlaces(points, signal)
      for (const [index, cell] of unknown.entries()) named.set(cell, places[index] ?? null)
      for (const cell of named.keys()) {
        if (named.size <= MAX_KEPT) break
        named.delete(cell)
      }
      return unknown.length
    },
  })
  return cell => named.get(cell)
}

/** Where points are in words, each once, as far as that is known. */
export function usePlaces(points: readonly Point[]): (point: Point) => NamedPlace {
  const keys = [...new Set(points.map(keyOf))].slice(0, MAX_PLACES)
  const { data } = useQuery({
    queryKey: ['places', ...keys],
    enabled: keys.length > 0 && hasWords(),
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const found = new Map<string, NamedPlace>()
      for (let at = 0; at < keys.length; at += BATCH) {
        const batch = keys.slice(at, at + BATCH)
        const asked = batch.map(key => key.split(' ').map(Number) as [number, number])
        const named = await readPlaces(
          asked.map(([lat, lng]) => ({ lat, lng })),
          signal,
        )
        for (const [index, key] of batch.entries()) found.set(key, named[index] ?? null)
      }
      return found
    },
  })
  return point => data?.get(keyOf(point)) ?? null
}
