import type { Queryable } from '../../../db/client.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import { findSampleState, type SampleState } from '../../../db/queries/sample-company.ts'
import { conflict } from '../../http/errors.ts'
import { doublingBackoff, type JobKind } from '../../jobs/kind.ts'
import { COMPANY_JOB, orderCompany } from './company/job.ts'
import { createSampleRecords } from './sample-records.ts'
import { createSampleSchedules, createSampleTasks, createSampleVehicles } from './sample-work.ts'

/**
 * The samples that a new organization starts with. Each resource adds its own records, marked as samples; records that
 * refer to others come after them.
 */
interface Samples {
  resource: string
  create(tx: Queryable, organizationId: string): Promise<void>
}

const SAMPLES: readonly Samples[] = [
  { resource: 'vehicles', create: createSampleVehicles },
  { resource: 'dataSources', create: createSampleRecords },
  { resource: 'tasks', create: createSampleTasks },
  { resource: 'schedules', create: createSampleSchedules },
]

export const SAMPLE_JOB = 'sample-data'

/** Orders sample data for an organization, in the transaction that creates it. */
export async function orderSampleData(tx: Queryable, organizationId: string): Promise<void> {
  await insertJob(tx, { kind: SAMPLE_JOB, organizationId, uniqueKey: organizationId })
}

/** Creates the samples of one resource after the other, each once, however often the job is claimed. */
export const sampleDataJob: JobKind = {
  kind: SAMPLE_JOB,
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

/** How far an organization's sample data is. */
export interface SampleProgress {
  status: 'none' | 'creating' | 'there' | 'failed'
  progress: number
  /** Whether the sample company may be created: there is neither a hub nor a sample. */
  isOffered: boolean
}

export async function readSampleProgress(tx: Queryable): Promise<SampleProgress> {
  return describe(await findSampleState(tx, COMPANY_JOB))
}

function describe({ status, progress, hasSamples, hasHubs }: SampleState): SampleProgress {
  if (status === 'queued' || status === 'running') {
    // The records are the first step, the shifts of the history the others.
    const done = progress ? (progress.done + 1) / (progress.of + 1) : 0
    return { status: 'creating', progress: done, isOffered: false }
  }
  if (status === 'failed') return { status: 'failed', progress: 0, isOffered: false }
  return hasSamples
    ? { status: 'there', progress: 1, isOffered: false }
    : { status: 'none', progress: 0, isOffered: !hasHubs }
}

const HAS_HUB =
  'The sample company is for an organization without a hub. This one has hubs of its own, which would be among its depots.'
const IS_ENDING = 'The last sample company is still being deleted. Try again in a moment.'
const IS_THERE = 'There is sample data already. Delete it first: DELETE /organization/sample-data.'

/** Orders the sample company of an organization that has neither a hub nor samples. */
export async function createSampleCompany(
  tx: Queryable,
  organizationId: string,
  userId: string,
): Promise<SampleProgress> {
  const state = await findSampleState(tx, COMPANY_JOB)
  if (describe(state).status !== 'none') throw conflict(IS_THERE)
  if (state.hasHubs) throw conflict(HAS_HUB)
  if (!(await orderCompany(tx, organizationId, userId))) throw conflict(IS_ENDING)
  return { status: 'creating', progress: 0, isOffered: false }
}
