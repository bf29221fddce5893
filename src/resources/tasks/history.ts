import { timeOfDay } from '../../../db/clock.ts'
import type { Flow } from '../../../db/queries/flows.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import type { Task } from '../../../db/queries/tasks.ts'
import type { Step } from '../../../db/schema/flows.ts'
import type { HistoryEntry } from '../../../db/schema/tasks.ts'
import { conflict, RequestError } from '../../http/errors.ts'

/**
 * Moves a task through its flow. Its history is in the order in which things happened, and its status is that of the
 * last entry. A phone without a connection reports late, and repeats a report that got no answer:
 *
 * - The same status at the same time is the same entry.
 * - An entry is placed after those that happened before it, and the status of its predecessor must allow it. Later
 *   entries
 *   stay in the history, and so does the task's status.
 * - An event before the task's creation (from a slow clock) counts as at its creation.
 * - A request without a time means now. That is placed after all entries, including those of a fast clock.
 */

/** More than anybody needs; a flow may contain a cycle. */
const MAX_ENTRIES = 500
/** The values of a step's fields are stored in every entry. */
const MAX_BYTES = 256 * 1024

/** Who moves a task: a user, an API key, or with neither a schedule. */
export interface Mover {
  by: string | null
  apiKey?: { _id: string; name: string }
}

export const SCHEDULE: Mover = { by: null }

export const moverOf = ({ userId, apiKey }: Pick<Caller, 'userId' | 'apiKey'>): Mover =>
  apiKey ? { by: null, apiKey } : { by: userId }

export interface Move extends Mover {
  status: string
  /** Null means now. */
  at: Date | null
  lat: number | null
  lng: number | null
  note: string | null
  fields: { [key: string]: unknown }
}

/**
 * The task after a move, or the unchanged task if it has made this move already. Throws 409 if the flow does not allow
 * it.
 */
export function moveTask(task: Task, flow: Pick<Flow, 'steps'>, move: Move): Task {
  const at = timeOf(task.history, move.at)
  if (task.history.some(entry => entry.status === move.status && entry.at === at)) return task
  const place = task.history.findLastIndex(entry => entry.at <= at) + 1
  const before = task.history[place - 1] as HistoryEntry
  const allowed = stepOf(flow, before.status)?.next ?? []
  if (!allowed.includes(move.status)) throw notAllowed(before.status, move.status, allowed)
  return addEntry(task, flow, place, { ...move, at })
}

/** The task after a change of its assignee: assigning and unassigning moves it between `unassigned` and `assigned`. */
export function assignTask(
  task: Task,
  flow: Pick<Flow, 'steps'>,
  assigneeId: string | null,
  mover: Mover,
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
  const entry = { status: to as string, at, ...mover, lat: null, lng: null, note: null, fields: {} }
  return addEntry(assigned, flow, task.history.length, entry)
}

/** The first entry of a new task's history. */
export const firstEntry = (flow: Pick<Flow, 'steps'>, mover: Mover, now: Date): HistoryEntry => ({
  status: (flow.steps[0] as Step).status,
  at: now.toISOString(),
  ...mover,
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

/** The fields of an entry that count as content: those that no later entry sets again. */
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
