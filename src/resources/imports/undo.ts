import { acrossOrganizations, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { OvertakenError } from '../../../db/failures.ts'
import { listTakenValues, newKeys } from '../../../db/queries/data.ts'
import { type RecordChange, updateRecords } from '../../../db/queries/data-in-bulk.ts'
import { type DataType, findDataType } from '../../../db/queries/data-types.ts'
import {
  deleteRecords,
  knownValues,
  listReferredByOthers,
  lockWritten,
  type WrittenRecord,
} from '../../../db/queries/data-undo.ts'
import {
  findNextStep,
  type ImportStepRow,
  type Replaced,
  shrinkStep,
  type Undo,
  writeUndo,
} from '../../../db/queries/import-steps.ts'
import { findImport, type Import } from '../../../db/queries/imports.ts'
import { findStanding } from '../../../db/queries/sessions.ts'
import { retryConflict } from '../../../db/retry.ts'
import { createGiveWay } from '../../jobs/give-way.ts'
import { doublingBackoff, type JobContext, type JobKind, Stopped } from '../../jobs/kind.ts'
import { checkValues, listBrokenReferences } from '../data/check.ts'
import { listLinkingFields } from '../data/linking-fields.ts'
import { mayUndo } from './present.ts'

/**
 * Undoes an import: deletes the records that it created and puts back the values of those that it changed, where nobody has
 * changed them since. It takes the newest batch first, because a row may refer to the record of an earlier one. A step is one
 * transaction with its records, its counts and the rest of its batch; if the process dies, the next one continues there.
 */
export const UNDO_JOB = 'import-undo'

const ATTEMPTS = 10
const STEP_ATTEMPTS = 10
const TURN_MS = 3_000
/** Records of one step, and the bytes of their former values: 20 to 50 ms on PGlite. */
const AT_ONCE = { created: 200, replaced: 100, bytes: 256 * 1024 } as const
/** Whether records are referred to is asked for each of them and each field that may do it: 20 ms on PGlite. */
const ASKED_AT_ONCE = 2_000
const OUR_FAULT = 'The undo could not be finished: something went wrong on our side. Ask for it again.'

interface Payload {
  importId: string
  userId: string
}

/** The outcome for some records. */
type Counts = Pick<Undo, 'deleted' | 'restored'> & { left: Partial<Undo['left']> }

/** Why the undo cannot go on. */
class Hopeless extends Error {}

/** `storedPoints` is the number of points that this process has stored. */
export function undoJob(storedPoints: () => number): JobKind {
  const kind: JobKind<Payload> = {
    kind: UNDO_JOB,
    slots: 2,
    slotsPerRoot: 1,
    turnMs: TURN_MS,
    attempts: ATTEMPTS,
    backoffMs: doublingBackoff,
    timeoutMs: 6 * 3600_000,
    async run(context) {
      const giveWay = createGiveWay(storedPoints, context.signal)
      while (!(await undoSome(context))) {
        await giveWay()
        await context.passTurn()
      }
    },
    async ended(tx, { payload, organizationId }, { status }) {
      const found = await findImport(tx, payload.importId, 'FOR UPDATE')
      if (!found?.undo || status !== 'failed') return
      await writeUndo(tx, organizationId as string, found._id, end(found.undo, 'failed', OUR_FAULT))
    },
  }
  return kind as JobKind
}

const end = (undo: Undo, status: 'completed' | 'failed', error: string | null = null): Undo => ({
  ...{ ...undo, status, error },
  finishedAt: new Date(timeOfDay()).toISOString(),
})

/** Undoes the next records. Resolves to whether the undo has ended. */
async function undoSome({ job, commit }: JobContext<Payload>): Promise<boolean> {
  const { importId, userId } = job.payload
  const organizationId = job.organizationId as string
  return retryConflict(
    () =>
      commit(async tx => {
        const found = await findImport(tx, importId, 'FOR UPDATE')
        if (!found?.undo || found.undo.finishedAt !== null)
          throw new Stopped('cancelled', 'The import is gone')
        const step = await findNextStep(tx, importId, await readAtOnce(tx, organizationId, found.dataTypeId))
        if (!step) {
          await writeUndo(tx, organizationId, importId, end(found.undo, 'completed'))
          return true
        }
        try {
          const counts = await acrossOrganizations(tx, () =>
            undoStep(tx, { organizationId, userId }, found, step),
          )
          await shrinkStep(tx, importId, step)
          await writeUndo(tx, organizationId, importId, add(found.undo, counts))
          return false
        } catch (error) {
          if (!(error instanceof Hopeless)) throw error
          await writeUndo(tx, organizationId, importId, end(found.undo, 'failed', error.message))
          return true
        }
      }),
    STEP_ATTEMPTS,
  )
}

/** The records of the next step: the more fields may refer to them, the fewer. */
async function readAtOnce(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
): Promise<Parameters<typeof findNextStep>[2]> {
  const linking = await acrossOrganizations(tx, () => listLinkingFields(tx, organizationId, dataTypeId))
  const asked = Math.floor(ASKED_AT_ONCE / Math.max(1, linking.length))
  return { ...AT_ONCE, created: Math.max(1, Math.min(AT_ONCE.created, asked)) }
}

function add(undo: Undo, { deleted, restored, left }: Counts): Undo {
  const sum = { ...undo.left }
  for (const [reason, count] of Object.entries(left)) sum[reason as keyof Undo['left']] += count
  return {
    ...undo,
    status: 'processing',
    deleted: undo.deleted + deleted,
    restored: undo.restored + restored,
    left: sum,
  }
}

async function undoStep(
  tx: Queryable,
  { organizationId, userId }: { organizationId: string; userId: string },
  { dataTypeId, dataTypeName, userId: importer }: Import,
  step: ImportStepRow,
): Promise<Counts> {
  const type = await findDataType(tx, organizationId, { dataTypeId }, 'FOR SHARE')
  if (!type) throw new Hopeless(`The data type ${dataTypeName} has been deleted.`)
  const standing = await findStanding(tx, userId)
  if (!standing || !mayUndo(standing, dataTypeId, userId === importer))
    throw new Hopeless(
      `The user who asked for it may not undo it any more: its role lacks a permission for ${type.name}, or a field of it.`,
    )
  return step.created.length > 0
    ? deleteCreated(tx, organizationId, type, step.created)
    : restoreReplaced(tx, organizationId, type, step)
}

async function deleteCreated(
  tx: Queryable,
  organizationId: string,
  type: DataType,
  ids: readonly string[],
): Promise<Counts> {
  const found = await lockWritten(tx, organizationId, ids, null)
  const unchanged = found.filter(({ isAsWritten }) => isAsWritten)
  const kept = await listNeeded(tx, organizationId, type, unchanged)
  const deleted = unchanged.filter(({ _id }) => !kept.has(_id))
  const unique = newKeys(type.fields, deleted)
  await deleteRecords(
    tx,
    organizationId,
    type._id,
    unique,
    deleted.map(({ _id }) => _id),
  )
  return {
    deleted: deleted.length,
    restored: 0,
    left: {
      gone: ids.length - found.length,
      changed: found.length - unchanged.length,
      referred: kept.size,
    },
  }
}

/** Those of these records that others refer to, which stay. A record that only deleted ones refer to is not needed. */
async function listNeeded(
  tx: Queryable,
  organizationId: string,
  type: DataType,
  records: readonly WrittenRecord[],
): Promise<Set<string>> {
  const linking = await listLinkingFields(tx, organizationId, type._id)
  const ids = records.map(({ _id }) => _id)
  const needed = new Set(await listReferredByOthers(tx, organizationId, ids, linking))
  const own = linking.filter(({ dataTypeId }) => dataTypeId === type._id)
  // A set takes up what is added while it is walked.
  const byId = new Map(records.map(({ _id, data }) => [_id, data]))
  for (const id of needed) {
    for (const { key } of own) {
      const to = byId.get(id)?.[key]
      if (typeof to === 'string' && byId.has(to)) needed.add(to)
    }
  }
  return needed
}

async function restoreReplaced(
  tx: Queryable,
  organizationId: string,
  type: DataType,
  { at, replaced }: ImportStepRow,
): Promise<Counts> {
  const before = new Map(
    replaced.map(text => {
      const { _id, data } = JSON.parse(text) as Replaced
      return [_id, data] as const
    }),
  )
  const found = await lockWritten(tx, organizationId, [...before.keys()], at)
  const unchanged = found.filter(({ isAsWritten }) => isAsWritten)
  const changes = unchanged.flatMap(({ _id, data }): RecordChange[] => {
    // Fields may have gone since, or follow other rules.
    const given = knownValues(before.get(_id) ?? {}, type.fields)
    const checked = checkValues(type, given, {})
    return checked.errors.length > 0 ? [] : [{ _id, before: data, data: checked.data }]
  })
  const broken = await listBrokenReferences(tx, organizationId, type, changes)
  const taken = await listTakenValues(tx, organizationId, type._id, newKeys(type.fields, changes))
  const unfit = new Set([...broken, ...taken].map(({ recordId }) => recordId))
  const restored = changes.filter(({ _id }) => !unfit.has(_id))
  if ((await updateRecords(tx, organizationId, type, restored)).length > 0)
    throw new OvertakenError('A unique value was taken meanwhile')
  return {
    deleted: 0,
    restored: restored.length,
    left: {
      gone: before.size - found.length,
      changed: found.length - unchanged.length,
      unfit: unchanged.length - restored.length,
    },
  }
}
