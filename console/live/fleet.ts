import { toX, toY } from '../map/mercator.ts'
import { NUMERIC, type Packed, type Position, TYPES, unpack } from './packed.ts'

/** A subject that reports every few seconds moves all the time. One that reports every minute moves there and waits. */
const LONGEST_MOVE_MS = 5_000
const SHORTEST_MOVE_MS = 250
/** Nothing drives further between two fixes: the marker jumps there. A share of the world's width, 4 km at the equator. */
const JUMP = 0.0001

const COLUMNS = [
  'x',
  'y',
  'fromX',
  'fromY',
  'startedAt',
  'movesMs',
  'heardAt',
  'stateAt',
  ...NUMERIC,
] as const
type Column = (typeof COLUMNS)[number]

/**
 * The newest state of every subject, in columns: 10,000 of them change four times a second, and each frame reads them all. A
 * marker moves from its shown place to the newest fix, and never past it.
 */
export function createFleet() {
  let capacity = 256
  const columns = {} as Record<Column, Float64Array>
  const names: string[] = []
  const ids: string[] = []
  const slots = new Map<string, number>()
  const listeners = new Set<() => void>()
  for (const name of COLUMNS) columns[name] = new Float64Array(capacity)

  const fleet = {
    columns,
    ids,
    names,
    get size() {
      return ids.length
    },
    /** `version` counts every change, `members` the changes of subjects or their names. */
    version: 0,
    members: 0,
    slotOf: (id: string) => slots.get(id),
    typeOf: (slot: number) => TYPES[columns.type[slot] as number] as Position['subjectType'],
    /** Milliseconds since the epoch: the fix that changed its state. NaN where this page has not seen that. */
    stateSince(id: string): number {
      const slot = slots.get(id)
      return slot === undefined ? Number.NaN : (columns.stateAt[slot] as number)
    },
    find(id: string): Position | undefined {
      const slot = slots.get(id)
      return slot === undefined ? undefined : unpack(fleet, slot)
    },
    replace(all: Packed, now: number) {
      const kept = new Set(all.ids)
      for (const id of [...ids]) if (!kept.has(id)) remove(id)
      put(all, now)
      changed()
    },
    update(some: Packed, now: number) {
      put(some, now)
      changed()
    },
    remove(gone: readonly string[]) {
      for (const id of gone) remove(id)
      changed()
    },
    /** The share of the way to the newest fix that is covered at `now`. */
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

  function put(some: Packed, now: number) {
    const { lat, lng } = some.columns
    const at = some.ids.map((id, index) => {
      const [x, y] = [toX(lng[index] as number), toY(lat[index] as number)]
      return move(id, some.names[index] as string, x, y, now)
    })
    for (const [index, slot] of at.entries()) {
      const isNew = columns.timestamp[slot] === 0
      if (!isNew && columns.state[slot] !== some.columns.state[index])
        columns.stateAt[slot] = some.columns.timestamp[index] as number
    }
    for (const name of NUMERIC) {
      const [to, from] = [columns[name], some.columns[name]]
      for (let index = 0; index < at.length; index++) to[at[index] as number] = from[index] as number
    }
  }

  /** Starts to move a subject from its shown place, and returns its slot. */
  function move(id: string, name: string, nextX: number, nextY: number, now: number): number {
    let slot = slots.get(id)
    if (slot === undefined) {
      slot = ids.length
      if (slot === capacity) grow()
      slots.set(id, slot)
      ids.push(id)
      names.push(name)
      columns.fromX[slot] = nextX
      columns.fromY[slot] = nextY
      columns.movesMs[slot] = 0
      columns.stateAt[slot] = Number.NaN
      // A used slot has the values of somebody else.
      columns.timestamp[slot] = 0
      fleet.members++
    } else {
      const { x, y, fromX, fromY, movesMs, heardAt } = columns
      if (names[slot] !== name) {
        names[slot] = name
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
    columns.x[slot] = nextX
    columns.y[slot] = nextY
    columns.startedAt[slot] = now
    columns.heardAt[slot] = now
    return slot
  }

  function grow() {
    capacity *= 2
    for (const name of COLUMNS) {
      const wider = new Float64Array(capacity)
      wider.set(columns[name])
      columns[name] = wider
    }
  }

  /** The last subject moves into the free slot. */
  function remove(id: string) {
    const slot = slots.get(id)
    if (slot === undefined) return
    const last = ids.length - 1
    const moved = ids[last] as string
    for (const name of COLUMNS) columns[name][slot] = columns[name][last] as number
    ids[slot] = moved
    names[slot] = names[last] as string
    slots.set(moved, slot)
    slots.delete(id)
    ids.pop()
    names.pop()
    fleet.members++
  }

  return fleet
}

export type Fleet = ReturnType<typeof createFleet>
