import { toX, toY } from '../map/mercator.ts'

/** A position as the live socket sends it: degrees, metres a second, percent. */
export interface Position {
  subjectId: string
  subjectType: 'user' | 'device'
  name: string
  lat: number
  lng: number
  timestamp: string
  speed: number | null
  heading: number | null
  accuracy: number | null
  battery: number | null
  state: State
}

export const STATES = ['moving', 'idle', 'offline'] as const
export type State = (typeof STATES)[number]

/** What reports every few seconds moves all the time; what reports every minute goes there and waits. */
const LONGEST_MOVE_MS = 5_000
const SHORTEST_MOVE_MS = 250
/** Further than anything drives between two fixes: it is simply there. A share of the world's width, 4 km at the equator. */
const JUMP = 0.0001

type Column =
  | 'x'
  | 'y'
  | 'fromX'
  | 'fromY'
  | 'startedAt'
  | 'movesMs'
  | 'heardAt'
  | 'timestamp'
  | 'heading'
  | 'speed'

/**
 * The newest state of every subject, in columns: 10,000 of them change four times a second, and a frame reads them all.
 * What is shown moves from where it was shown to the newest fix, and never past it.
 */
export function createFleet() {
  let capacity = 256
  const columns = {} as Record<Column, Float64Array>
  const names: string[] = []
  const ids: string[] = []
  const positions: Position[] = []
  let states = new Uint8Array(capacity)
  const slots = new Map<string, number>()
  const listeners = new Set<() => void>()
  const NAMES: Column[] = [
    'x',
    'y',
    'fromX',
    'fromY',
    'startedAt',
    'movesMs',
    'heardAt',
    'timestamp',
    'heading',
    'speed',
  ]
  for (const name of NAMES) columns[name] = new Float64Array(capacity)

  const fleet = {
    columns,
    ids,
    names,
    /** As they came, by slot. */
    positions,
    /** Indices of STATES, by slot. */
    get states() {
      return states
    },
    get size() {
      return ids.length
    },
    /** Counts every change, and those of who is there or what they are called. */
    version: 0,
    members: 0,
    slotOf: (id: string) => slots.get(id),
    find(id: string): Position | undefined {
      const slot = slots.get(id)
      return slot === undefined ? undefined : positions[slot]
    },
    replace(all: readonly Position[], now: number) {
      const kept = new Set(all.map(position => position.subjectId))
      for (const id of [...ids]) if (!kept.has(id)) remove(id)
      for (const position of all) put(position, now)
      changed()
    },
    update(some: readonly Position[], now: number) {
      for (const position of some) put(position, now)
      changed()
    },
    remove(gone: readonly string[]) {
      for (const id of gone) remove(id)
      changed()
    },
    /** Where it is shown at `now`, as a share of its way to the newest fix. */
    progress(slot: number, now: number): number {
      const moves = columns.movesMs[slot] as number
      if (moves === 0) return 1
      return Math.min(1, (now - (columns.startedAt[slot] as number)) / moves)
    },
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  function changed() {
    fleet.version++
    for (const listener of listeners) listener()
  }

  function put(position: Position, now: number) {
    const { x, y, fromX, fromY, startedAt, movesMs, heardAt, timestamp, heading, speed } = columns
    const nextX = toX(position.lng)
    const nextY = toY(position.lat)
    let slot = slots.get(position.subjectId)
    if (slot === undefined) {
      slot = ids.length
      if (slot === capacity) return grow(position, now)
      slots.set(position.subjectId, slot)
      ids.push(position.subjectId)
      names.push(position.name)
      fromX[slot] = nextX
      fromY[slot] = nextY
      movesMs[slot] = 0
      fleet.members++
    } else {
      if (names[slot] !== position.name) {
        names[slot] = position.name
        fleet.members++
      }
      const share = fleet.progress(slot, now)
      const shownX = (fromX[slot] as number) + ((x[slot] as number) - (fromX[slot] as number)) * share
      const shownY = (fromY[slot] as number) + ((y[slot] as number) - (fromY[slot] as number)) * share
      const jumps = Math.hypot(nextX - shownX, nextY - shownY) > JUMP
      const moved = nextX !== x[slot] || nextY !== y[slot]
      const since = now - (heardAt[slot] as number)
      fromX[slot] = jumps ? nextX : shownX
      fromY[slot] = jumps ? nextY : shownY
      if (jumps) movesMs[slot] = 0
      else if (moved) movesMs[slot] = Math.min(LONGEST_MOVE_MS, Math.max(SHORTEST_MOVE_MS, since))
      else movesMs[slot] = share < 1 ? (movesMs[slot] as number) * (1 - share) : 0
    }
    x[slot] = nextX
    y[slot] = nextY
    startedAt[slot] = now
    heardAt[slot] = now
    timestamp[slot] = Date.parse(position.timestamp)
    heading[slot] = position.heading ?? Number.NaN
    speed[slot] = position.speed ?? Number.NaN
    states[slot] = STATES.indexOf(position.state)
    positions[slot] = position
  }

  function grow(position: Position, now: number) {
    capacity *= 2
    for (const name of NAMES) {
      const wider = new Float64Array(capacity)
      wider.set(columns[name])
      columns[name] = wider
    }
    const wider = new Uint8Array(capacity)
    wider.set(states)
    states = wider
    put(position, now)
  }

  /** The last one takes its slot. */
  function remove(id: string) {
    const slot = slots.get(id)
    if (slot === undefined) return
    const last = ids.length - 1
    const moved = ids[last] as string
    for (const name of NAMES) columns[name][slot] = columns[name][last] as number
    states[slot] = states[last] as number
    ids[slot] = moved
    names[slot] = names[last] as string
    positions[slot] = positions[last] as Position
    slots.set(moved, slot)
    slots.delete(id)
    ids.pop()
    names.pop()
    positions.pop()
    fleet.members++
  }

  return fleet
}

export type Fleet = ReturnType<typeof createFleet>
