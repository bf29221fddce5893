import { acrossOrganizations, type Database, type Queryable } from '../../../db/client.ts'
import { listSampleRecords } from '../../../db/queries/data.ts'
import { deleteEmptySampleTypes } from '../../../db/queries/data-types.ts'
import { beginFenceChange } from '../../../db/queries/geofences.ts'
import { cancelJob, findActiveJob } from '../../../db/queries/jobs.ts'
import {
  deleteSampleImports,
  deleteSamplePeople,
  deleteSamplePlaces,
  deleteSomeCaused,
  listSampleTaskReferences,
  listUnfinishedImports,
} from '../../../db/queries/sample-company.ts'
import { deleteSampleSchedules } from '../../../db/queries/schedules.ts'
import { deleteSampleTasks } from '../../../db/queries/tasks.ts'
import { retryConflict } from '../../../db/retry.ts'
import { conflict } from '../../http/errors.ts'
import { IMPORT_JOB } from '../imports/job.ts'
import { releaseTasks } from '../tasks/release.ts'
import { COMPANY_JOB } from './company/job.ts'
import { orderSweep } from './removal.ts'
import { SAMPLE_JOB } from './sample-data.ts'
import { deleteSampleRecord } from './sample-records.ts'

/** The rows of one transaction, which take some 20 ms on the embedded database. */
const TASKS_AT_ONCE = 100
const CAUSED_AT_ONCE = 500
/** How often the last transaction is tried when others work on the same records. */
const ATTEMPTS = 3

/**
 * Deletes all sample data, and cancels the jobs that create it. Own tasks, records and crossings may name samples in any number, so
 * those go first and in steps, with turns for others in between; the samples themselves are few and go in one transaction, with
 * `finish`. Points are deleted in the background. Returns the number of deleted records per resource. Throws 409 while an import of
 * the organization's own into a sample data type works.
 */
export async function deleteSampleData(
  db: Database,
  organizationId: string,
  finish: (tx: Queryable) => Promise<void>,
): Promise<{ [resource: string]: number }> {
  const inTurn = <Done>(work: (tx: Queryable) => Promise<Done>) => db.tenant(organizationId, work)
  const across = <Done>(work: (tx: Queryable) => Promise<Done>) =>
    inTurn(tx => acrossOrganizations(tx, () => work(tx)))
  const imports = await inTurn(async tx => {
    await cancelCreation(tx, organizationId)
    await rejectUnfinished(tx)
    // Before the records, to which one that works would add.
    return acrossOrganizations(tx, () => deleteSampleImports(tx, organizationId, IMPORT_JOB))
  })
  const tasks = await countSteps(TASKS_AT_ONCE, limit => inTurn(tx => deleteSampleTasks(tx, limit)))
  for (const { reference, id } of await inTurn(listSampleTaskReferences))
    await releaseTasks(db, organizationId, reference, id)
  let dataSources = 0
  for (const record of await across(tx => listSampleRecords(tx, organizationId)))
    if (await across(tx => deleteSampleRecord(tx, organizationId, record))) dataSources++
  await countSteps(CAUSED_AT_ONCE, limit => across(tx => deleteSomeCaused(tx, organizationId, limit)))
  const deleteRest = async (tx: Queryable) => {
    await rejectUnfinished(tx)
    await beginFenceChange(tx, organizationId)
    const schedules = await deleteSampleSchedules(tx)
    // A schedule may have created tasks meanwhile, and its people may have been given some. They would keep the hubs.
    const late = await deleteSampleTasks(tx, TASKS_AT_ONCE)
    const rest = await acrossOrganizations(tx, () => deleteCompany(tx, organizationId))
    await finish(tx)
    return { tasks: tasks + late, schedules, dataSources, imports: imports.length, ...rest }
  }
  return retryConflict(() => inTurn(deleteRest), ATTEMPTS)
}

/** Repeats a step until it has less to do than it may. Resolves to the sum. */
async function countSteps(limit: number, step: (limit: number) => Promise<number>): Promise<number> {
  for (let sum = 0; ; ) {
    const done = await step(limit)
    sum += done
    if (done < limit) return sum
  }
}

/** A job that commits meanwhile comes first, and its records are found afterwards; a later commit fails. */
async function cancelCreation(tx: Queryable, organizationId: string): Promise<void> {
  for (const kind of [SAMPLE_JOB, COMPANY_JOB]) {
    const creating = await findActiveJob(tx, kind, organizationId)
    if (creating) await cancelJob(tx, creating)
  }
}

async function rejectUnfinished(tx: Queryable): Promise<void> {
  const [unfinished] = await listUnfinishedImports(tx)
  if (unfinished !== undefined)
    throw conflict(
      `The import of ${unfinished} into the sample data is still working. Wait for its end, or cancel it, and try again.`,
    )
}

async function deleteCompany(tx: Queryable, organizationId: string): Promise<{ [resource: string]: number }> {
  await deleteEmptySampleTypes(tx, organizationId)
  const { subjects, removed } = await deleteSamplePeople(tx, organizationId)
  const places = await deleteSamplePlaces(tx, organizationId, COMPANY_JOB)
  await orderSweep(tx, subjects)
  return { ...removed, ...places }
}
