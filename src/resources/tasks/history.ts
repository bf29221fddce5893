import { timeOfDay } from '../../../db/clock.ts'
import type { Flow } from '../../../db/queries/flows.ts'
import type { Task } from '../../../db/queries/tasks.ts'
import type { Step } from '../../../db/schema/flows.ts'
import type { HistoryEntry } from '../../../db/schema/tasks.ts'
import { conflict, RequestError } from '../../http/errors.ts'

/**
 * How a task moves through its flow. Its history is in the order of the times at which things happened, and its status is
 * that of the last entry. A phone without a connection says late what it did, and says it again where it got no answer:
 *
 * - The same status at the same time is the same entry.
 * - An entry comes after those that happened before it, and the status of the one before it has to allow it. What comes
 *   after it in the history stays, and so does the status of the task.
 * - What happened before the task was created (a clock that is slow) happened at that moment.
 * - Who names no time means now, which is after everything that is there, also after what a fast clock has said.
 */

/** As many as nobody needs; a flow may go round in a circle. */
const MAX_ENTRIES = 500
/** What steps ask for is kept in every entry. */
const MAX_BYTES = 256 * 1024

export interface Move {
  status: string
  /** Null is now. */
  at: Date | null
  by: string
  lat: number | null
  lng: number | null
  note: string | null
  fields: { [key: string]: unknown }
}

/** The task after a move, or the same one where it has made it already. 409 where the flow does not allow it. */
export function moveTask(task: Task, flow: Pick<Flow, 'steps'>, move: Move): Task {
  const at = timeOf(task.history, move.at)
  if (task.history.some(entry => entry.status === move.status && entry.at === at)) return task
  const place = task.history.findLastIndex(entry => entry.at <= at) + 1
  const before = task.history[place - 1] as HistoryEntry
  const allowed = stepOf(flow, before.status)?.next ?? []
  if (!allowed.includes(move.status)) throw notAllowed(before.status, move.status, allowed)
  return addEntry(task, flow, place, { ...move, at })
}

/** The task after its assignee is another one: given and taken away, it moves between `unassigned` and `assigned`. */
export function assignTask(
  task: Task,
  flow: Pick<Flow, 'steps'>,
  assigneeId: string | null,
  by: string | null,
): Task {
  const [from, to] = assigneeId ? ['unassigned', 'assigned'] : ['assigned', 'unassigned']
  const assigned = { ...task, assigneeId }
  if (
    !movesWithAssignee(flow) ||
    task.status !== from ||
    (task.assigneeId === null) !== (assigneeId !== null)
  )
    return assigned
  const at = timeOf(task.history, null)
  const entry = { status: to as string, at, by, lat: null, lng: null, note: null, fields: {} }
  return addEntry(assigned, flow, task.history.length, entry)
}

/** What a new task begins with. */
export const firstEntry = (flow: Pick<Flow, 'steps'>, by: string | null, now: Date): HistoryEntry => ({
  status: (flow.steps[0] as Step).status,
  at: now.toISOString(),
  by,
  lat: null,
  lng: null,
  note: null,
  fields: {},
})

export const stepOf = ({ steps }: Pick<Flow, 'steps'>, status: string): Step | undefined =>
  steps.find(step => step.status === status)

const movesWithAssignee = (flow: Pick<Flow, 'steps'>) =>
  stepOf(flow, 'unassigned') !== undefined && stepOf(flow, 'assigned') !== undefined

function timeOf(history: readonly HistoryEntry[], given: Date | null): string {
  const time = (given ?? new Date(timeOfDay())).toISOString()
  const earliest = (given ? history[0] : history.at(-1))?.at
  return earliest !== undefined && time < earliest ? earliest : time
}

/** What of an entry's fields is the content: that which no later entry says again. */
export function countingFields(
  fields: HistoryEntry['fields'],
  later: readonly HistoryEntry[],
): HistoryEntry['fields'] {
  const known = new Set(later.flatMap(({ fields }) => Object.keys(fields)))
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !known.has(key)))
}

function addEntry(task: Task, flow: Pick<Flow, 'steps'>, place: number, entry: HistoryEntry): Task {
  const later = task.history.slice(place)
  const history = [...task.history.slice(0, place), entry, ...later]
  if (history.length > MAX_ENTRIES || Buffer.byteLength(JSON.stringify(history)) > MAX_BYTES)
    throw conflict('The history of this task is full. Create another task.')
  const moved = { ...task, history, content: { ...task.content, ...countingFields(entry.fields, later) } }
  if (later.length > 0) return moved
  const isNobodys = entry.status === 'unassigned' && movesWithAssignee(flow)
  return { ...moved, status: entry.status, assigneeId: isNobodys ? null : moved.assigneeId }
}

function notAllowed(from: string, to: string, allowed: readonly string[]): RequestError {
  const next = allowed.length > 0 ? `only ${allowed.join(', ')} can follow` : 'nothing can follow'
  return new RequestError('conflict', `The task cannot become ${to}: after ${from} ${next}.`, { allowed })
}
