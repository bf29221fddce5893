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
  /** Whether geofences are on the map, which one is open, and whether it is being changed. */
  fences: boolean
  fence: string | null
  edit: boolean
  /** Who is inside of what: a geofence (`fence:` and its identifier), or a ring that was drawn. */
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

/** Of what keeps somebody off the list. */
export const NO_FILTERS = { search: '', state: 'all', hub: '', team: '', area: '' } as const

/** What is shown is in the address: it can be sent, gone back to, and loaded again. */
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
      // Going back leads from one that was opened to the one before, not from letter to letter nor from step to step. What
      // somebody does is shown with the next frame: as a transition it waits behind whatever comes in.
      { replace: isStep || (!next.subject && !next.fence), flushSync: true },
    )
  }, [])
  return [filters, change] as const
}

/** Whether a slot passes what is looked for here; hub and team are the server's business. */
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

/** Every frame asks it of everybody, and an area may have 500 corners: it is looked at where somebody has moved. */
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

/** The identifiers that pass, in order. `byName`: the slots, ordered by name. */
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

/** By the speed that is shown of it; whoever has fallen silent comes last. */
function rankSpeed({ columns }: Fleet, slot: number): number {
  const state = STATES[columns.state[slot] as number] as State
  const speed = columns.speed[slot] as number
  return state === 'offline' ? -1 : (readSpeed({ state, speed: Number.isNaN(speed) ? null : speed }) ?? 0)
}

/** The slots of everybody, ordered by name: 20 ms for 10,000, so only when who is there or what they are called changes. */
export function orderByName(fleet: Fleet, locale: string): number[] {
  const { compare } = new Intl.Collator(locale, { numeric: true })
  return [...fleet.ids.keys()].sort((a, b) => compare(fleet.names[a] as string, fleet.names[b] as string))
}
