import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { acrossOrganizations, newId, type Queryable } from '../../../../db/client.ts'
import { timeOfDay } from '../../../../db/clock.ts'
import { insertJob } from '../../../../db/queries/jobs.ts'
import { deleteSamplePlaces, listKeysOf } from '../../../../db/queries/sample-company.ts'
import type { Log, Source } from '../../../../stream/log.ts'
import { doublingBackoff, type JobContext, type JobKind } from '../../../jobs/kind.ts'
import type { ImportFiles } from '../../imports/files.ts'
import { orderSweep } from '../removal.ts'
import { listPoints } from './history.ts'
import { type Plan, planCompany } from './plan.ts'
import { createCompany } from './records.ts'
import { createSchedules, createTasks } from './tasks.ts'
import { IMPORT_TEXT } from './words.ts'

/**
 * Creates the sample company: its records in one transaction, then a fortnight of history, a shift of one vehicle after
 * the other. The points go through the log as acknowledged ones do. A process that dies is followed by one that goes on
 * with the next shift, and appends the same points again where it is not known whether they were stored.
 */
export const COMPANY_JOB = 'sample-company'

/** As long as it has stored points, it leaves the database to others. */
const REST = 1

interface Payload {
  userId: string
}

/** The company as it was founded, and the number of the shifts whose points are stored. */
interface Progress {
  at: number
  importId: string
  /** The device of each vehicle, and its subject's key. */
  devices: { id: string; subject: number }[]
  done: number
  of: number
}

/** Orders the company of an organization. Returns false if it is being created already. */
export async function orderCompany(tx: Queryable, organizationId: string, userId: string): Promise<boolean> {
  const payload: Payload = { userId }
  return (
    (await insertJob(tx, { kind: COMPANY_JOB, organizationId, payload, uniqueKey: organizationId })) !== null
  )
}

export function companyJob({ openLog, files }: { openLog: () => Promise<Log>; files: ImportFiles }): JobKind {
  const kind: JobKind<Payload> = {
    kind: COMPANY_JOB,
    slots: 1,
    slotsPerRoot: 1,
    attempts: 5,
    backoffMs: doublingBackoff,
    timeoutMs: 30 * 60_000,
    async run(context) {
      const { job, signal, commit } = context
      const before = job.progress as Progress | null
      const plan = await planCompany(before?.at ?? timeOfDay())
      const progress = before ?? (await createRecords(context, plan, files))
      // For `ended`, which knows the job as it was claimed.
      job.progress = progress
      const log = await openLog()
      for (const [vehicle, day] of plan.shifts.slice(progress.done)) {
        signal.throwIfAborted()
        await setImmediate()
        const { id, subject } = progress.devices[vehicle.number] as Progress['devices'][number]
        const organizationId = job.organizationId as string
        const source: Source = { ended: false, subjects: [{ kind: 'device', id, organizationId, subject }] }
        const begun = performance.now()
        await log.append(listPoints(plan, vehicle, day, subject), source)
        progress.done++
        await commit(async () => {}, progress)
        // Today's shifts are short, and somebody waits for the first positions.
        if (day > 0) await pause((performance.now() - begun) * REST, undefined, { signal })
      }
    },
    /** Removes the points that were appended after the removal had listed them. */
    async ended(tx, { organizationId, progress }, { status }) {
      if (status !== 'cancelled') return
      const subjects = (progress as Progress | null)?.devices.map(({ subject }) => subject) ?? []
      await acrossOrganizations(tx, async () => {
        await orderSweep(tx, subjects)
        await deleteSamplePlaces(tx, organizationId as string, COMPANY_JOB)
      })
    },
  }
  return kind as JobKind
}

async function createRecords(
  { job, commit }: JobContext<Payload>,
  plan: Plan,
  files: ImportFiles,
): Promise<Progress> {
  const organizationId = job.organizationId as string
  const { userId } = job.payload
  const importId = newId()
  await files.receive(importId, chunksOf(IMPORT_TEXT))
  const progress: Progress = { at: plan.at, importId, devices: [], done: 0, of: plan.shifts.length }
  await commit(async tx => {
    const company = await createCompany(tx, { organizationId, root: job.queue, userId, importId, plan })
    await createTasks(tx, organizationId, userId, plan, company)
    await createSchedules(tx, organizationId, plan, company)
    const keys = await listKeysOf(tx, company.deviceIds)
    progress.devices = company.deviceIds.map((id, index) => ({ id, subject: keys[index] as number }))
  }, progress)
  return progress
}

async function* chunksOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
