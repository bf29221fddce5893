import { useCallback, useMemo, useRef } from 'react'
import { useSearchParams } from 'react-router'
import type { Fleet } from '../../live/fleet.ts'
import { STATES, type State } from '../../live/packed.ts'
import { createInside, type Shape } from '../../map/areas.ts'
import { readSpeed } from './speed.ts'

export const SORTS = ['name', 'speed', 'silence'] as const
export type Sort = (typeof SORTS)[number]

export interface Filters {
  search: string
  state: State | 'all'
  hub: string
  team: string
  sort: Sort
  subject: string | null
  follow: boolean
  /** Whether geofences are shown, which one is open, and whether it is being edited. */
  fences: boolean
  fence: string | null
  edit: boolean
  /** The area filter: a geofence (`fence:` and its identifier), or a drawn ring. */
  area: string
}

const DEFAULTS: Filters = {
  search: '',
  state: 'all',
  hub: '',
  team: '',
  sort: 'name',
  subject: null,
  follow: false,
  fences: true,
  fence: null,
  edit: false,
  area: '',
}

/** The filters that exclude subjects. */
export const NO_FILTERS = { search: '', state: 'all', hub: '', team: '', area: '' } as const

/** The state of the map page is in the address, so it can be shared, loaded again, and reached by the back button. */
export function useFilters() {
  const [params, setParams] = useSearchParams()
  const filters = useMemo<Filters>(() => {
    const state = params.get('state') as State
    const sort = params.get('sort') as Sort
    return {
      search: params.get('search') ?? DEFAULTS.search,
      state: STATES.includes(state) ? state : DEFAULTS.state,
      hub: params.get('hub') ?? DEFAULTS.hub,
      team: params.get('team') ?? DEFAULTS.team,
      sort: SORTS.includes(sort) ? sort : DEFAULTS.sort,
      subject: params.get('subject'),
      follow: params.get('follow') === 'true',
      fences: params.get('fences') !== 'false',
      fence: params.get('fence'),
      edit: params.get('edit') === 'true',
      area: params.get('area') ?? DEFAULTS.area,
    }
  }, [params])
  const latest = useRef(setParams)
  latest.current = setParams
  const change = useCallback((next: Partial<Filters>, { isStep = false } = {}) => {
    latest.current(
      now => {
        const changed = new URLSearchParams(now)
        for (const [name, value] of Object.entries(next)) {
          if (value === DEFAULTS[name as keyof Filters] || value === null) changed.delete(name)
          else changed.set(name, String(value))
        }
        return changed
      },
      // The back button leads to the subject opened before, not through letters or steps. Changes are shown in the next
      // frame: a transition would wait behind live updates.
      { replace: isStep || (!next.subject && !next.fence), flushSync: true },
    )
  }, [])
  return [filters, change] as const
}

/** Whether a slot passes the filters of this page. The server filters by hub and team. */
export function createTest(
  fleet: Fleet,
  { search, state }: Pick<Filters, 'search' | 'state'>,
  area: Shape | null,
): (slot: number) => boolean {
  const wanted = state === 'all' ? -1 : STATES.indexOf(state)
  const text = search.trim().toLowerCase()
  const isInside = area ? createAreaTest(fleet, area) : () => true
  return slot =>
    (wanted === -1 || fleet.columns.state[slot] === wanted) &&
    (text === '' || (fleet.names[slot] as string).toLowerCase().includes(text)) &&
    isInside(slot)
}

/** Every frame tests every subject, and an area may have 500 corners: the result is kept until the subject moves. */
function createAreaTest(fleet: Fleet, area: Shape): (slot: number) => boolean {
  const isInside = createInside(area)
  const seen: { lat: number; lng: number }[] = []
  const inside: boolean[] = []
  return slot => {
    const place = { lat: fleet.columns.lat[slot] as number, lng: fleet.columns.lng[slot] as number }
    if (seen[slot]?.lat !== place.lat || seen[slot].lng !== place.lng) {
      seen[slot] = place
      inside[slot] = isInside(place)
    }
    return inside[slot] as boolean
  }
}

/** The identifiers that pass, in order. `byName`: the slots in the order of names. */
export function listSubjects(
  fleet: Fleet,
  byName: readonly number[],
  filters: Filters,
  area: Shape | null,
): string[] {
  const slots = byName.filter(createTest(fleet, filters, area))
  const { timestamp } = fleet.columns
  if (filters.sort === 'speed') {
    const speeds = fleet.ids.map((_, slot) => rankSpeed(fleet, slot))
    slots.sort((a, b) => (speeds[b] as number) - (speeds[a] as number))
  } else if (filters.sort === 'silence')
    slots.sort((a, b) => (timestamp[a] as number) - (timestamp[b] as number))
  return slots.map(slot => fleet.ids[slot] as string)
}

/** The shown speed; silent subjects come last. */
function rankSpeed({ columns }: Fleet, slot: number): number {
  const state = STATES[columns.state[slot] as number] as State
  const speed = columns.speed[slot] as number
  return state === 'offline' ? -1 : (readSpeed({ state, speed: Number.isNaN(speed) ? null : speed }) ?? 0)
}

/** All slots in the order of names. It takes 20 ms for 10,000, so it runs only when subjects or names change. */
export function orderByName(fleet: Fleet, locale: string): number[] {
  const { compare } = new Intl.Collator(locale, { numeric: true })
  return [...fleet.ids.keys()].sort((a, b) => compare(fleet.names[a] as string, fleet.names[b] as string))
}
