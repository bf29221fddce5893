import { type Database, newId } from '../../db/client.ts'
import { insertFlows } from '../../db/queries/flows.ts'
import { insertSchedules, type NewSchedule } from '../../db/queries/schedules.ts'
import { atOnce } from '../../fair/scheduler.ts'
import { DEFAULT_FLOWS } from '../../src/resources/flows/templates.ts'
import { lookThrough, type Timing } from '../../src/resources/schedules/occurrences.ts'
import { planFrom } from '../../src/resources/schedules/plan.ts'

export interface Planning {
  organizationId: string
  flowId: string
}

/** An organization with flows, and nothing else. */
export async function addPlanning(db: Database): Promise<Planning> {
  const organizationId = newId()
  await db.system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Planning')`, [organizationId])
  const flows = DEFAULT_FLOWS.map(flow => ({ ...flow, steps: [...flow.steps], isDefault: true }))
  const [flowId = ''] = await db.tenant(organizationId, tx => insertFlows(tx, organizationId, flows))
  return { organizationId, flowId }
}

/** A schedule that is due from its start on. */
export async function addSchedule(
  db: Database,
  { organizationId, flowId }: Planning,
  given: Partial<NewSchedule> & Pick<NewSchedule, 'startTime'>,
): Promise<string> {
  const schedule: NewSchedule = {
    name: 'Scheduled',
    flowId,
    dataIds: [],
    dataTypeIds: [],
    hubId: null,
    teamId: null,
    assigneeId: null,
    vehicleId: null,
    location: null,
    duration: null,
    content: {},
    repeat: { rrule: 'FREQ=HOURLY' },
    endTime: null,
    timezone: 'UTC',
    exceptions: [],
    nextRunAt: null,
    skipped: 0,
    ...given,
  }
  const plan = atOnce(planFrom(schedule, 0, Date.now()))
  const [id = ''] = await db.tenant(organizationId, tx =>
    insertSchedules(tx, organizationId, [{ ...schedule, ...plan }]),
  )
  return id
}

/** The first occurrences from an instant on, in milliseconds since 1970. */
export const listOccurrences = (timing: Timing, from: number, count = Number.POSITIVE_INFINITY): number[] =>
  atOnce(lookThrough(timing, { from, now: Number.NEGATIVE_INFINITY, futureCount: () => count })).next
