import type { Person, Target, Task, Vehicle } from './task.ts'

/** A lane of the timeline: whom its tasks are given to. */
export interface Lane {
  /** `user:…`, `vehicle:…`, or empty for the tasks that nobody has. */
  key: string
  name: string
  /** The vehicle of the lane, or the one that its person drives. */
  vehicle: Vehicle | undefined
  tasks: Task[]
  /** The changes of a task that is dropped here. */
  target: Target
}

export const UNASSIGNED = ''

export const laneOf = ({ assigneeId, vehicleId }: Task): string =>
  assigneeId ? `user:${assigneeId}` : vehicleId ? `vehicle:${vehicleId}` : UNASSIGNED

/** The vehicle that a task is done with: its own, or the one that its assignee drives. */
export const vehicleOf = (task: Task, vehicles: readonly Vehicle[]): Vehicle | undefined =>
  vehicles.find(({ _id }) => _id === task.vehicleId) ??
  (task.assigneeId ? vehicles.find(({ driverId }) => driverId === task.assigneeId) : undefined)

interface Known {
  people: readonly Person[]
  /** Whoever is a member of any team works on tasks. */
  members: ReadonlySet<string>
  vehicles: readonly Vehicle[]
  /** The members of the chosen team; null where none is chosen. */
  memberIds: readonly string[] | null
  words: { unassigned: string; unknown: string }
}

/** So few people all have a lane, whatever they do. */
const MAX_EVERYBODY = 12

/**
 * The lanes of a day: the unassigned tasks first, then everybody who has some, then the drivers and members who are free. Of the
 * vehicles only those that have tasks of their own get a lane, as the others are their drivers' lanes.
 */
export function lanesOf(
  tasks: readonly Task[],
  { people, vehicles, memberIds, members, words }: Known,
): Lane[] {
  const byLane = new Map<string, Task[]>()
  for (const task of tasks) byLane.set(laneOf(task), [...(byLane.get(laneOf(task)) ?? []), task])
  const lane = (key: string, name: string, vehicle: Vehicle | undefined, target: Target): Lane => ({
    key,
    name,
    vehicle,
    target,
    tasks: byLane.get(key) ?? [],
  })
  const driven = new Map(vehicles.map(vehicle => [vehicle.driverId, vehicle]))
  const isWorking = ({ _id }: Person) =>
    memberIds?.includes(_id) ?? (people.length <= MAX_EVERYBODY || driven.has(_id) || members.has(_id))
  const known = people
    .filter(person => person.status === 'active')
    .filter(person => byLane.has(`user:${person._id}`) || isWorking(person))
    .map(({ _id, name }) => lane(`user:${_id}`, name, driven.get(_id), { assigneeId: _id }))
  const named = new Set(known.map(({ key }) => key))
  const others = [...byLane.keys()]
    .filter(key => key !== UNASSIGNED && !named.has(key))
    .map(key => {
      const [type, id = ''] = key.split(':')
      const vehicle = type === 'vehicle' ? vehicles.find(({ _id }) => _id === id) : driven.get(id)
      const name =
        (type === 'vehicle' ? vehicle?.name : people.find(({ _id }) => _id === id)?.name) ?? words.unknown
      return lane(
        key,
        name,
        vehicle,
        type === 'vehicle' ? { assigneeId: null, vehicleId: id } : { assigneeId: id },
      )
    })
  const given = [...known, ...others].sort(
    (one, other) =>
      Number(other.tasks.length > 0) - Number(one.tasks.length > 0) || one.name.localeCompare(other.name),
  )
  return [lane(UNASSIGNED, words.unassigned, undefined, { assigneeId: null, vehicleId: null }), ...given]
}

interface Placed {
  task: Task
  /** The line of the lane in which it does not overlap the tasks before. */
  line: number
  from: number
  to: number
  /** Its label may be written up to here: the next task of the line begins there. */
  roomTo: number
}

/** A task without an end is drawn as long as this. */
const UNENDED_MS = 30 * 60_000
/** A shorter task is drawn as long as this, so that it can be pressed. */
const SHORTEST_MS = 20 * 60_000

/** Places the tasks of a lane, in the order of their starts, on as few lines as leave each of them `labelMs` for its label. */
export function placeTasks(tasks: readonly Task[], labelMs = 0): { placed: Placed[]; lines: number } {
  const ends: number[] = []
  const last: Placed[] = []
  const placed = tasks.map(task => {
    const from = Date.parse(task.startTime ?? '')
    const end = task.endTime ? Date.parse(task.endTime) : from + UNENDED_MS
    const to = Math.max(end, from + SHORTEST_MS)
    const free = ends.findIndex(end => end <= from)
    const line = free < 0 ? ends.length : free
    const before = last[line]
    if (before) before.roomTo = from
    ends[line] = Math.max(to, from + labelMs)
    const one = { task, line, from, to, roomTo: Number.POSITIVE_INFINITY }
    last[line] = one
    return one
  })
  return { placed, lines: Math.max(1, ends.length) }
}

const HOUR_MS = 3_600_000
/** The hours of a day that are shown although no task is in them. */
const USUAL = [7, 19] as const

/** The whole hours that a timeline shows: the usual ones, and those of its tasks. */
export function spanOf(tasks: readonly Task[], day: { from: number; to: number }, now: number) {
  const { placed } = placeTasks(tasks)
  const isToday = now >= day.from && now < day.to
  const starts = [day.from + USUAL[0] * HOUR_MS, ...placed.map(({ from }) => from), ...(isToday ? [now] : [])]
  const ends = [day.from + USUAL[1] * HOUR_MS, ...placed.map(({ to }) => to), ...(isToday ? [now] : [])]
  const hourBefore = (at: number) => day.from + Math.floor((at - day.from) / HOUR_MS) * HOUR_MS
  const hourAfter = (at: number) => day.from + Math.ceil((at - day.from) / HOUR_MS) * HOUR_MS
  return {
    from: Math.max(day.from, hourBefore(Math.min(...starts))),
    // A window over midnight goes on a few hours into the next day.
    to: Math.min(day.to + 6 * HOUR_MS, hourAfter(Math.max(...ends))),
  }
}
