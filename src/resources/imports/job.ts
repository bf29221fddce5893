import { acrossOrganizations, type Database, type Queryable } from '../../../db/client.ts'
import type { BulkSize } from '../../../db/drivers/driver.ts'
import { isInvalidData, overCap } from '../../../db/errors.ts'
import { type DataType, findDataType } from '../../../db/queries/data-types.ts'
import { insertStep, measureStepRoom } from '../../../db/queries/import-steps.ts'
import {
  advanceImport,
  beginImport,
  endImport,
  findImport,
  type Import,
} from '../../../db/queries/imports.ts'
import { DEFAULT_LANGUAGE, findOrganization } from '../../../db/queries/organizations.ts'
import { findStanding } from '../../../db/queries/sessions.ts'
import { retryConflict } from '../../../db/retry.ts'
import { createGiveWay } from '../../jobs/give-way.ts'
import { doublingBackoff, type JobContext, type JobKind, Stopped } from '../../jobs/kind.ts'
import { FileError, unimportable } from '../../sheets/file-error.ts'
import { type DataAccess, dataAccess } from '../data/access.ts'
import { type Style, styleOf, type Writing } from './convert.ts'
import type { ImportFiles } from './files.ts'
import type { ReadRow } from './read-rows.ts'
import { readBatches } from './reader.ts'
import { keepReport } from './report.ts'
import { storeRows } from './store-rows.ts'

/**
 * Imports a file: a thread of its own reads the rows, which are stored in batches. A batch is one transaction with its
 * records, their webhook events, its counts and its last row. If the process dies, the next one continues with the row
 * after that.
 */
export const IMPORT_JOB = 'import'

/** Some minutes, including the pauses between them: more would not help, and the user is not informed meanwhile. */
const ATTEMPTS = 10
/** The attempts for a batch that conflicts with other transactions. */
const STORE_ATTEMPTS = 10
/**
 * The length of a turn while other jobs wait. Each turn reads the file from its beginning: a million rows take half a
 * minute.
 */
const TURN_MS = 3_000
const OUR_FAULT =
  'The import could not be finished: something went wrong on our side. What is in stays in; send the file again.'

interface Payload {
  importId: string
}
type Context = JobContext<Payload>

/** The present state of everything that an import depends on. */
interface Plan {
  found: Import
  type: DataType
  writing: Writing
  style: Style
  /** The bytes that may still be remembered for an undo. */
  room: number
  maxKnownBytes: number
}

/** The progress of an import. */
interface Progress {
  /** The last stored row. */
  row: number
  /** The number of characters of stored row errors. */
  reported: number
  /** How the stored rows were read; the rest of the file is read in the same way. */
  writing?: Writing
}

export function importJob({
  db,
  files,
  storedPoints,
}: {
  db: Database
  files: ImportFiles
  /** The number of points that this process has stored. */
  storedPoints: () => number
}): JobKind {
  const kind: JobKind<Payload> = {
    kind: IMPORT_JOB,
    slots: 2,
    slotsPerRoot: 1,
    turnMs: TURN_MS,
    attempts: ATTEMPTS,
    backoffMs: doublingBackoff,
    timeoutMs: 6 * 3600_000,
    async run(context) {
      const { commit, job } = context
      const { importId } = job.payload
      const organizationId = job.organizationId as string
      if (!(await commit(tx => beginImport(tx, organizationId, importId)))) return
      const end = async (how: Parameters<typeof endImport>[3]) => {
        if (await commit(tx => endImport(tx, organizationId, importId, how))) await files.delete(importId)
      }
      try {
        await importFile(context, files.pathOf(importId), db.bulk, storedPoints)
        await end({ status: 'completed' })
      } catch (error) {
        const reason = explain(error) ?? (isHopeless(error) && job.attempt > 1 ? OUR_FAULT : null)
        if (reason === null) throw error
        await end({ status: 'failed', error: reason })
      }
    },
    // The next sweep deletes the file, because this transaction may still be rolled back.
    async ended(tx, { payload, organizationId }, { status }) {
      const error = status === 'failed' ? OUR_FAULT : null
      await endImport(tx, organizationId as string, payload.importId, { status, error })
    },
  }
  return kind as JobKind
}

/** Why the file cannot be imported; null if the error is not its fault. */
function explain(error: unknown): string | null {
  if (error instanceof FileError) return error.message
  const tooMany = overCap(error)
  if (tooMany !== null) return `${tooMany} What is in stays in.`
  return (error as NodeJS.ErrnoException | null)?.code === 'ENOENT'
    ? 'The file of this import is gone.'
    : null
}

/**
 * Whether another attempt would fail in the same way: the database rejects the values, or the program has a bug.
 * Conflicts with other transactions may succeed.
 */
const isHopeless = (error: unknown): boolean =>
  isInvalidData(error) || error instanceof RangeError || error instanceof TypeError

async function importFile(
  context: Context,
  path: string,
  size: BulkSize,
  storedPoints: () => number,
): Promise<void> {
  const missed = new Set<string>()
  const progress: Progress = { row: 0, reported: 0, ...(context.job.progress as Partial<Progress> | null) }
  let isDone = false
  while (!isDone) isDone = await importRest(context, path, size, storedPoints, progress, missed)
}

/**
 * Imports the rows after those that are stored. Resolves to false if the data type has changed meanwhile: the rows that are
 * left have to be read again.
 */
async function importRest(
  context: Context,
  path: string,
  size: BulkSize,
  storedPoints: () => number,
  progress: Progress,
  missed: Set<string>,
): Promise<boolean> {
  const { job, signal, commit } = context
  const organizationId = job.organizationId as string
  const plan = {
    ...(await commit(tx => readPlan(tx, organizationId, job.payload.importId, progress))),
    maxKnownBytes: size.characters,
  }
  const { found, type, writing } = plan
  const { fields, primaryKey, _id: dataTypeId } = type
  const { format, mapping, countsSep } = found
  const reading = {
    ...{ path, format, countsSep, dataTypeId, fields, primaryKey, mapping },
    ...writing,
    after: progress.row,
  }
  const giveWay = createGiveWay(storedPoints, signal)
  for await (const { rows, fraction } of readBatches(reading, size, signal)) {
    if (rows.length === 0) continue
    for (let stored = 0; stored < rows.length; ) {
      const some = await storeSome(context, plan, rows.slice(stored), { fraction, missed }, progress)
      if (some === null) return false
      stored += some
      await giveWay()
      await context.passTurn()
    }
  }
  return true
}

async function readPlan(
  tx: Queryable,
  organizationId: string,
  importId: string,
  progress: Progress,
): Promise<Omit<Plan, 'maxKnownBytes'>> {
  const found = await findImport(tx, importId)
  const organization = await findOrganization(tx, organizationId)
  if (!found || !organization) throw new Stopped('cancelled', 'The import is gone')
  const type = await findDataType(tx, organizationId, found)
  if (!type) throw unimportable(`The data type ${found.dataTypeName} has been deleted.`)
  await acrossOrganizations(tx, () => readAccess(tx, found, type))
  const gone = Object.keys(found.mapping).find(key => !type.fields.some(field => field.key === key))
  if (gone !== undefined) {
    throw unimportable(`${type.name} has no field ${gone} any more: send what is left of the file again.`)
  }
  // With another key the rows would be other records, and without a key all of them would be new.
  const hasOtherKey = found.primaryKey !== null && found.primaryKey !== type.primaryKey
  if (hasOtherKey || (found.mode === 'upsert' && type.primaryKey === null)) {
    throw unimportable(
      `The primary key of ${type.name} is another one than when the file was sent: send what is left of the file again.`,
    )
  }
  const { language, timeZone, currency } = organization
  const writing = progress.writing ?? { language: language ?? DEFAULT_LANGUAGE, timeZone, currency }
  return { found, type, writing, style: styleOf(writing), room: await measureStepRoom(tx) }
}

/** The data that the sender may see now. Throws if it may no longer import. */
async function readAccess(tx: Queryable, { userId }: Import, type: DataType): Promise<DataAccess> {
  const standing = await findStanding(tx, userId)
  if (!standing || !dataAccess(standing, 'import/data').grants(type._id)) {
    throw unimportable(`The user who sent the file may not import into ${type.name} any more.`)
  }
  return dataAccess(standing, 'view/data')
}

/**
 * Stores the first rows, as many as one transaction may store, and moves the progress behind them. Resolves to their number;
 * null if the type has changed, and nothing is stored.
 */
async function storeSome(
  { commit, job }: Context,
  plan: Plan,
  rows: readonly ReadRow[],
  { fraction, missed }: { fraction: number; missed: Set<string> },
  progress: Progress,
): Promise<number | null> {
  const { found, type, writing, style, maxKnownBytes } = plan
  const { _id: importId, mode, dryRun, format, mapping, isSample } = found
  const mapped = Object.keys(mapping)
  const organizationId = job.organizationId as string
  const store = (tx: Queryable) =>
    acrossOrganizations(tx, async () => {
      const now = await findDataType(tx, organizationId, { dataTypeId: type._id }, 'FOR SHARE')
      if (!now || !isSameType(now, type)) return null
      const access = await readAccess(tx, found, type)
      const how = { mode, dryRun, mapped, access, format, isSample, style, missed, maxKnownBytes }
      return storeRows(tx, { organizationId, type, ...how }, rows)
    })
  return retryConflict(async () => {
    const next: Progress = { ...progress }
    let bytes = 0
    const processed = await commit(async tx => {
      const outcome = await store(tx)
      if (!outcome) return null
      const { failed, characters } = keepReport(outcome.failed, progress.reported)
      const last = rows[outcome.processed - 1] as ReadRow
      Object.assign(next, { row: last.row, reported: characters, writing })
      const step = { ...outcome, failed, progress: fraction }
      if (!(await advanceImport(tx, organizationId, importId, step)))
        throw new Stopped('cancelled', 'The import was cancelled')
      const { row } = next
      bytes = await insertStep(tx, organizationId, importId, { row, ...outcome.stored }, plan.room)
      return outcome.processed
    }, next)
    Object.assign(progress, next)
    plan.room -= bytes
    return processed
  }, STORE_ATTEMPTS)
}

const isSameType = (one: DataType, other: DataType) =>
  one.primaryKey === other.primaryKey && JSON.stringify(one.fields) === JSON.stringify(other.fields)
