import type { Queryable } from '../../db/client.ts'
import { cancelJob, findActiveJob, insertJob } from '../../db/queries/jobs.ts'
import { deleteSampleVehicles, insertVehicles } from '../../db/queries/vehicles.ts'
import { makeSampleRecords, removeSampleRecords } from '../data/samples.ts'
import { doublingBackoff, type JobKind } from '../jobs/kind.ts'

/**
 * What a new organization finds to try things out with. Each resource adds a maker of its own records, marked as
 * samples; what refers to others comes after them.
 */
interface SampleMaker {
  resource: string
  make(tx: Queryable, organizationId: string): Promise<void>
  /** Removes what it made. Returns how many records there were. */
  remove(tx: Queryable, organizationId: string): Promise<number>
}

const SAMPLE_MAKERS: readonly SampleMaker[] = [
  {
    resource: 'vehicles',
    async make(tx, organizationId) {
      const [hub] = await tx.query<{ id: string }>('SELECT id FROM hubs ORDER BY id LIMIT 1')
      const names = ['Sample van', 'Sample truck', 'Sample cargo bike']
      const vehicles = names.map(name => ({ name, hubId: hub?.id ?? null, isSample: true }))
      await insertVehicles(tx, organizationId, vehicles)
    },
    remove: deleteSampleVehicles,
  },
  { resource: 'dataSources', make: makeSampleRecords, remove: removeSampleRecords },
]

const KIND = 'sample-data'

/** Sample data for an organization, in the transaction that makes it. */
export async function orderSampleData(tx: Queryable, organizationId: string): Promise<void> {
  await insertJob(tx, { kind: KIND, organizationId, uniqueKey: organizationId })
}

/** Makes the samples of one resource after the other; each is there once, however often the job is taken up. */
export const sampleDataJob: JobKind = {
  kind: KIND,
  slots: 2,
  slotsPerOrganization: 1,
  attempts: 5,
  backoffMs: doublingBackoff,
  timeoutMs: 60_000,
  async run({ job, signal, commit }) {
    const made = new Set((job.progress as { made?: string[] } | null)?.made)
    for (const { resource, make } of SAMPLE_MAKERS) {
      if (made.has(resource)) continue
      signal.throwIfAborted()
      made.add(resource)
      await commit(tx => make(tx, job.organizationId as string), { made: [...made] })
    }
  },
}

/** Removes all sample data, and ends its making where that still goes on. Returns how many records of each resource. */
export async function removeSampleData(
  tx: Queryable,
  organizationId: string,
): Promise<{ [resource: string]: number }> {
  const making = await findActiveJob(tx, KIND, organizationId)
  if (making) await cancelJob(tx, making)
  const removed: { [resource: string]: number } = {}
  for (const { resource, remove } of [...SAMPLE_MAKERS].reverse())
    removed[resource] = await remove(tx, organizationId)
  return removed
}
