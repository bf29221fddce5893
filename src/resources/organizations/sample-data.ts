import type { Queryable } from '../../../db/client.ts'
import { cancelJob, findActiveJob, insertJob } from '../../../db/queries/jobs.ts'
import { deleteSampleSchedules } from '../../../db/queries/schedules.ts'
import { deleteSampleTasks } from '../../../db/queries/tasks.ts'
import { deleteSampleVehicles } from '../../../db/queries/vehicles.ts'
import { doublingBackoff, type JobKind } from '../../jobs/kind.ts'
import { createSampleRecords, deleteSampleRecords } from './sample-records.ts'
import { createSampleSchedules, createSampleTasks, createSampleVehicles } from './sample-work.ts'

/**
 * The samples that a new organization starts with. Each resource adds its own records, marked as samples; records that
 * refer to others come after them.
 */
interface Samples {
  resource: string
  create(tx: Queryable, organizationId: string): Promise<void>
  /** Deletes the samples that it created. Returns their number. */
  delete(tx: Queryable, organizationId: string): Promise<number>
}

const SAMPLES: readonly Samples[] = [
  { resource: 'vehicles', create: createSampleVehicles, delete: deleteSampleVehicles },
  { resource: 'dataSources', create: createSampleRecords, delete: deleteSampleRecords },
  { resource: 'tasks', create: createSampleTasks, delete: deleteSampleTasks },
  { resource: 'schedules', create: createSampleSchedules, delete: deleteSampleSchedules },
]

const KIND = 'sample-data'

/** Orders sample data for an organization, in the transaction that creates it. */
export async function orderSampleData(tx: Queryable, organizationId: string): Promise<void> {
  await insertJob(tx, { kind: KIND, organizationId, uniqueKey: organizationId })
}

/** Creates the samples of one resource after the other, each once, however often the job is claimed. */
export const sampleDataJob: JobKind = {
  kind: KIND,
  slots: 2,
  slotsPerRoot: 1,
  attempts: 5,
  backoffMs: doublingBackoff,
  timeoutMs: 60_000,
  async run({ job, signal, commit }) {
    const made = new Set((job.progress as { made?: string[] } | null)?.made)
    for (const { resource, create } of SAMPLES) {
      if (made.has(resource)) continue
      signal.throwIfAborted()
      made.add(resource)
      await commit(tx => create(tx, job.organizationId as string), { made: [...made] })
    }
  },
}

/** Deletes all sample data, and cancels the job that creates it. Returns the number of deleted records per resource. */
export async function deleteSampleData(
  tx: Queryable,
  organizationId: string,
): Promise<{ [resource: string]: number }> {
  const creating = await findActiveJob(tx, KIND, organizationId)
  if (creating) await cancelJob(tx, creating)
  const deleted: { [resource: string]: number } = {}
  for (const samples of [...SAMPLES].reverse())
    deleted[samples.resource] = await samples.delete(tx, organizationId)
  return deleted
}
