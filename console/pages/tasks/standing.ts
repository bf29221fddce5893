import { fromAbsolute } from '@internationalized/date'
import { WEEKDAYS } from '../records/vehicle-plan.ts'
import type { Flow, Task, Vehicle } from './task.ts'

/** How a task stands to the clock and to its end. */
export type Standing = 'planned' | 'running' | 'risk' | 'late' | 'done' | 'failed' | 'cancelled'

/** Statuses in which nobody has begun, unless the flow has others. */
const BEFORE_BEGINNING = ['unassigned', 'assigned', 'accepted']
/** A window that ends this soon is at risk while nobody works on the task. */
const SOON_MS = 30 * 60_000

export const stepOf = (flow: Flow | undefined, status: string) =>
  flow?.steps.find(step => step.status === status)

/** Whether nothing follows. A failed task may be tried again and counts as ended all the same. */
function endOf(status: string, flow: Flow | undefined): 'done' | 'failed' | 'cancelled' | null {
  if (status === 'failed' || status === 'cancelled') return status
  if (status === 'completed') return 'done'
  const step = stepOf(flow, status)
  return step && step.next.length === 0 ? 'done' : null
}

/** Whether somebody outside may follow the way to a task: not once nothing follows its status, when the server ends its links. */
export const isShareable = (status: string, flow: Flow | undefined): boolean =>
  stepOf(flow, status)?.next.length !== 0

const isBegun = (status: string, flow: Flow | undefined): boolean =>
  !BEFORE_BEGINNING.includes(status) && flow?.steps[0]?.status !== status

/**
 * A task is late once its window is over without an end, and at risk once it should have begun and has not, or when its window
 * ends soon and nobody works on it.
 */
export function standingOf(task: Task, flow: Flow | undefined, now: number): Standing {
  const { status } = task
  const end = endOf(status, flow)
  if (end) return end
  const [start, until] = [Date.parse(task.startTime ?? ''), Date.parse(task.endTime ?? '')]
  if (until < now) return 'late'
  if (isBegun(status, flow)) return 'running'
  return start < now || until - SOON_MS < now ? 'risk' : 'planned'
}

/** The minutes of a day at which a vehicle works, by its rules for that weekday. */
export function shiftsOn(day: string, { workingHours }: Vehicle): [from: number, to: number][] {
  const weekday = WEEKDAYS[(new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7]
  return workingHours
    .filter(one => one.weekday === weekday)
    .map(({ from, to }) => [minutesOf(from), minutesOf(to)])
}

const minutesOf = (clock: string): number => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

/** Whether the window of a task is not within the working hours of its vehicle. A vehicle without any works always. */
export function isOutsideHours(task: Task, vehicle: Vehicle | undefined, timeZone: string): boolean {
  if (!vehicle || vehicle.workingHours.length === 0 || !task.startTime) return false
  const start = fromAbsolute(Date.parse(task.startTime), timeZone)
  const end = fromAbsolute(Date.parse(task.endTime ?? task.startTime), timeZone)
  const day = start.toString().slice(0, 10)
  const from = start.hour * 60 + start.minute
  const isNextDay = end.toString().slice(0, 10) !== day
  const to = end.hour * 60 + end.minute + (isNextDay ? 24 * 60 : 0)
  return !shiftsOn(day, vehicle).some(([opens, closes]) => opens <= from && to <= closes)
}
