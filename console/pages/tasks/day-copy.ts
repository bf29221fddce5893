import { type CalendarDateTime, parseAbsolute, toCalendarDateTime, toZoned } from '@internationalized/date'
import type { components } from '../../api/interface.d.ts'
import type { Task } from './task.ts'

export type NewTask = components['schemas']['NewTask']

const DAY_MS = 86_400_000

/** The days in the calendar from one to the other. */
export const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS)

/** The tasks of a day that are copied: whatever came of them, except those that were called off. */
export const worthCopying = (tasks: readonly Task[]): Task[] =>
  tasks.filter(({ status }) => status !== 'cancelled')

interface Copying {
  days: number
  timeZone: string
  /** Whether copies are given to the same person and vehicle. */
  withPeople: boolean
}

/** A task for another day: its plan, without what came of it. */
export function copyOf(task: Task, { days, timeZone, withPeople }: Copying): NewTask {
  const { name, flowId, dataIds, hubId, teamId, assigneeId, vehicleId, location } = task
  return {
    name,
    flowId,
    dataIds,
    hubId,
    teamId,
    assigneeId: withPeople ? assigneeId : null,
    vehicleId: withPeople ? vehicleId : null,
    location,
    ...movedWindow(task, days, timeZone),
    content: plannedContent(task),
  }
}

/** The content without the values that were entered while the task was worked on. */
function plannedContent({ content, history }: Task): Task['content'] {
  const entered = new Set(history.flatMap(({ fields }) => Object.keys(fields)))
  return Object.fromEntries(Object.entries(content).filter(([key]) => !entered.has(key)))
}

/**
 * A window the same number of days later, at the same time of the clocks in the organization's time zone: a time that the clocks skip
 * moves on by the gap, and of two the first counts, as in schedules. A window that the clocks would leave empty keeps its length.
 */
function movedWindow({ startTime, endTime }: Task, days: number, timeZone: string) {
  const move = (time: string | null) => time && movedBy(time, days, timeZone)
  const [start, end] = [move(startTime), move(endTime)]
  if (!start || !end || !startTime || !endTime || end > start) return { startTime: start, endTime: end }
  const length = Date.parse(endTime) - Date.parse(startTime)
  return { startTime: start, endTime: new Date(Date.parse(start) + length).toISOString() }
}

function movedBy(time: string, days: number, timeZone: string): string {
  const local: CalendarDateTime = toCalendarDateTime(parseAbsolute(time, timeZone)).add({ days })
  return toZoned(local, timeZone, 'compatible').toDate().toISOString()
}
