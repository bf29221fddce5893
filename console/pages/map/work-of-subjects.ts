import { vehicleOf } from '../tasks/lanes.ts'
import { standingOf } from '../tasks/standing.ts'
import type { Flow, Person, Task, Vehicle } from '../tasks/task.ts'
import type { Work } from './subject-work.ts'

interface Known {
  flows: readonly Flow[]
  people: readonly Person[]
  vehicles: readonly Vehicle[]
}

/** The work of each device and each person of a day, whose tasks come in the order of their beginning. */
export function workOfSubjects(
  tasks: readonly Task[],
  { flows, people, vehicles }: Known,
  now: number,
): Map<string, Work> {
  const flowOf = new Map(flows.map(flow => [flow._id, flow]))
  const nameOf = new Map(people.map(({ _id, name }) => [_id, name]))
  const work = new Map<string, Work>()
  for (const { deviceId, driverId } of vehicles) {
    const driver = driverId === null ? null : (nameOf.get(driverId) ?? null)
    if (deviceId !== null && driver !== null) work.set(deviceId, { driver, task: null })
  }
  for (const task of tasks) {
    const standing = standingOf(task, flowOf.get(task.flowId), now)
    if (['done', 'failed', 'cancelled'].includes(standing)) continue
    const isUnderWay = isWorkedOn(task, standing)
    const { _id, name, startTime } = task
    for (const subjectId of [task.assigneeId, vehicleOf(task, vehicles)?.deviceId]) {
      if (!subjectId) continue
      const known = work.get(subjectId)
      if (known?.task && (known.task.isUnderWay || !isUnderWay)) continue
      work.set(subjectId, { driver: known?.driver ?? null, task: { _id, name, isUnderWay, startTime } })
    }
  }
  return work
}

/** A late task may be under way as well: its status says so. */
const isWorkedOn = ({ status }: Task, standing: string): boolean =>
  standing === 'running' || status === 'in_progress' || status === 'on_the_way'
