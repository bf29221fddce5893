import { setImmediate } from 'node:timers/promises'
import type { Database, Queryable } from '../../../db/client.ts'
import { withDemand } from '../../../db/demand.ts'
import { insertKeys, listRecordsAfter, type NewRecord, newKeys } from '../../../db/queries/data.ts'
import {
  beginTypeChange,
  deleteKeysBefore,
  deleteSomeKeys,
  deleteTouched,
  deleteTypeChange,
  hasTypeChange,
  holdTypeChange,
  listTouched,
  type TypeChange,
} from '../../../db/queries/data-type-changes.ts'
import { type DataType, findDataType, type NewDataType } from '../../../db/queries/data-types.ts'
import { retryConflict } from '../../../db/retry.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { uniqueName } from '../../../db/unique-value.ts'
import { conflict, RequestError } from '../../http/errors.ts'
import { listBrokenReferences } from '../data/check.ts'
import { checkValue } from '../data/values.ts'
import { type Change, type Contradiction, changedFields, listContradicting, mayContradict } from './rules.ts'

/**
 * Changes the rules of a data type's records, however many there are and whatever is written meanwhile:
 *
 * 1. A change begins in a transaction that excludes other writers. From then on a trigger notes every written record.
 * 2. The records are checked in steps, between which others may write. Values of fields that become unique are entered
 *    in `data_keys`, where nothing looks up values of a field that is not unique. Records that new references lead to can
 *    no longer be deleted. Noted records are skipped.
 * 3. Noted records are checked in steps as well, until few are left.
 * 4. One transaction, which excludes other writers, checks the rest of them and changes the type.
 *
 * If the process dies in between, the type stays as it was. Nothing uses the values that were entered, and the next
 * change of the field begins by deleting them. After the change, the values of a field that is no longer unique are
 * deleted too.
 */
/** The size of a step: it blocks the embedded database, or the event loop, for 50 ms at most. */
const STEP = { limit: 500, maxBytes: 256 * 1024 }
/** How often a step is tried when others work on the same records. */
const STEP_ATTEMPTS = 3
const KEYS_AT_ONCE = 2_000
/** The number of noted records that may be checked while nobody can write, and the attempts to get down to it. */
const FEW = 200
const PASSES = 5
/** The maximum of identifiers in an answer. */
const NAMED = 100

/** A change whose records have been checked. */
export interface Prepared {
  type: DataType
  changes: readonly Change[]
  change: TypeChange | null
}

/**
 * Checks the records in steps. Throws 409 with the records that contradict the change. The change must be applied or
 * abandoned afterwards.
 */
export async function prepareChange(
  db: Database,
  organizationId: string,
  type: DataType,
  after: NewDataType,
): Promise<Prepared> {
  const changes = changedFields(type, after).filter(mayContradict)
  if (changes.length === 0) return { type, changes, change: null }
  return db.behindOthers(async () => {
    const change = await db.system.transaction(async tx => {
      const now = await findDataType(tx, organizationId, { dataTypeId: type._id }, 'FOR UPDATE')
      if (!now || !isSame(now, type)) throw new TypeChanged()
      const keys = changes.map(({ key }) => key)
      return beginTypeChange(tx, organizationId, type._id, keys)
    })
    const prepared = { type, changes, change }
    try {
      await lookThrough(db, prepared)
      await lookAtTouched(db, prepared)
      return prepared
    } catch (error) {
      await abandonChange(db, prepared).catch(() => {})
      throw error
    }
  })
}

/** Checks the remaining records, in the transaction of the change, which holds the type FOR UPDATE. */
export async function applyChange(tx: Queryable, prepared: Prepared, now: DataType): Promise<void> {
  const { type, change } = prepared
  if (!isSame(now, type)) throw new TypeChanged()
  if (!change) return
  await hold(tx, change)
  const found = createReport()
  for (;;) {
    const { looked, contradictions } = await lookAtSome(tx, prepared, null, true)
    found.add(contradictions)
    if (looked === 0) break
  }
  found.check()
  await deleteTypeChange(tx, change)
}

/** After the change: deletes the values of fields that are no longer unique, in steps. */
export async function settleChange(db: Database, { changes, change }: Prepared): Promise<void> {
  if (!change) return
  const left = changes.flatMap(({ before, after }) => (before && isNewlyUnique(before, after) ? before : []))
  await db.behindOthers(() => deleteUnused(db, change, left))
}

/** Ends a change that failed, so that the type stays as it was. Runs even if the client has disconnected. */
export async function abandonChange(db: Database, { changes, change }: Prepared): Promise<void> {
  if (!change) return
  await withDemand({ lane: 'background', owner: change.organizationId }, async () => {
    await db.system.transaction(tx => deleteTypeChange(tx, change))
    await deleteUnused(db, change, newlyUnique(changes))
  })
}

/** The type has been changed since it was read, so its records must be checked again. */
export class TypeChanged extends RequestError {
  constructor() {
    super('conflict', 'Somebody else has changed this data type meanwhile. Try again.')
  }
}

/** Whether a field is unique, and the other rule does not enter its values under the same name. */
const isNewlyUnique = (field: Field, other: Field | undefined) =>
  field.unique && !(other?.unique && uniqueName(other) === uniqueName(field))
/** The fields that become unique, or are compared differently from now on: e-mail addresses are compared without case. */
const newlyUnique = (changes: readonly Change[]): Field[] =>
  changes.flatMap(({ before, after }) => (after && isNewlyUnique(after, before) ? after : []))

const isSame = (one: DataType, other: DataType) => one.updatedAt.getTime() === other.updatedAt.getTime()
async function hold(tx: Queryable, change: TypeChange): Promise<void> {
  const { organizationId, dataTypeId } = change
  // The type is locked first, as at the beginning and end of a change: unique values refer to it, and two changes would
  // otherwise deadlock.
  await findDataType(tx, organizationId, { dataTypeId }, 'FOR SHARE')
  if (!(await holdTypeChange(tx, change)))
    throw conflict('Somebody else is changing this data type. Try again.')
}

async function lookThrough(db: Database, { changes, change }: Prepared): Promise<void> {
  if (!change) return
  const { organizationId, dataTypeId } = change
  const unique = newlyUnique(changes)
  for (const field of unique) {
    await untilNone(() =>
      db.system.transaction(async tx => {
        await hold(tx, change)
        return deleteSomeKeys(tx, organizationId, dataTypeId, uniqueName(field), KEYS_AT_ONCE)
      }),
    )
  }
  const found = createReport()
  const look = async (records: readonly NewRecord[], tx: Queryable) => {
    const taken = await insertKeys(tx, organizationId, dataTypeId, newKeys(unique, records))
    return [
      ...listContradicting(changes, records),
      ...(await listBroken(tx, organizationId, changes, records)),
      ...taken.map(({ recordId, field }) => ({ id: recordId, key: field })),
    ]
  }
  await eachStep(db.system, change, changes, look, found)
  found.check()
}

/**
 * Checks the noted records until few are left. Contradictions among them may still be corrected, so they are reported
 * at the end.
 */
async function lookAtTouched(db: Database, prepared: Prepared): Promise<void> {
  const change = prepared.change as TypeChange
  const { organizationId, dataTypeId } = change
  for (let pass = 0; pass < PASSES; pass++) {
    const some = await listTouched(db.system, change, null, FEW + 1)
    if (some.length <= FEW) return
    for (let after: string | null = null; ; ) {
      const from: string | null = after
      const look = async (tx: Queryable): Promise<{ last: string | null }> => {
        // This lock waits for every writer that has not committed its record yet.
        await findDataType(tx, organizationId, { dataTypeId }, 'FOR UPDATE')
        await hold(tx, change)
        return lookAtSome(tx, prepared, from, false)
      }
      const { last } = await retryConflict(() => db.system.transaction(look), STEP_ATTEMPTS)
      if (last === null) break
      after = last
      await setImmediate()
    }
  }
}

/** Checks some of the noted records. Contradicting ones stay noted unless it is the last time. */
async function lookAtSome(
  tx: Queryable,
  { changes, change }: Prepared,
  after: string | null,
  isLast: boolean,
): Promise<{ last: string | null; looked: number; contradictions: Contradiction[] }> {
  const { organizationId, dataTypeId } = change as TypeChange
  const touched = await listTouched(tx, change as TypeChange, after, STEP.limit)
  const unique = newlyUnique(changes)
  await deleteKeysBefore(tx, change as TypeChange, unique, touched)
  const records = touched.flatMap(({ _id, data }) => (data ? [{ _id, data }] : []))
  const taken = await insertKeys(tx, organizationId, dataTypeId, newKeys(unique, records))
  const contradictions = [
    ...listContradicting(changes, records),
    ...(await listBroken(tx, organizationId, changes, records)),
    ...taken.map(({ recordId, field }) => ({ id: recordId, key: field })),
  ]
  const contradicting = new Set(contradictions.map(({ id }) => id))
  const stays = isLast ? [] : touched.filter(({ _id }) => contradicting.has(_id))
  // Records that stay noted have no entered values yet, whatever they become.
  await deleteKeysBefore(
    tx,
    change as TypeChange,
    unique,
    stays.map(record => ({ ...record, before: record.data ?? {} })),
  )
  const done = touched.filter(record => !stays.includes(record)).map(({ _id }) => _id)
  await deleteTouched(tx, change as TypeChange, done)
  return { last: touched.at(-1)?._id ?? null, looked: touched.length, contradictions }
}

/** Deletes values that nothing looks up, unless the field is unique or a change is about to make it so. */
async function deleteUnused(
  db: Database,
  { organizationId, dataTypeId }: TypeChange,
  fields: readonly Field[],
): Promise<void> {
  for (const name of fields.map(uniqueName)) {
    await untilNone(() =>
      db.system.transaction(async tx => {
        const type = await findDataType(tx, organizationId, { dataTypeId }, 'FOR SHARE')
        const isUsed = type?.fields.some(field => field.unique && uniqueName(field) === name)
        if (!type || isUsed || (await hasTypeChange(tx, organizationId, dataTypeId))) return 0
        return deleteSomeKeys(tx, organizationId, dataTypeId, name, KEYS_AT_ONCE)
      }),
    )
  }
}

async function untilNone(work: () => Promise<number>): Promise<void> {
  while ((await work()) > 0) await setImmediate()
}

/** Counts the records that contradict, and names some of them. */
function createReport() {
  const fields = new Set<string>()
  const ids: string[] = []
  let count = 0
  return {
    /** A record appears in one step only, so the count is exact without remembering them all. */
    add(found: readonly Contradiction[]) {
      for (const { key } of found) fields.add(key)
      const step = [...new Set(found.map(({ id }) => id))]
      count += step.length
      ids.push(...step.slice(0, NAMED - ids.length))
    },
    check() {
      if (count === 0) return
      throw new RequestError(
        'conflict',
        `${count} ${count === 1 ? 'record contradicts' : 'records contradict'} the new rules of ${[...fields].join(', ')}. ` +
          'Change them first.',
        { conflicts: { count, ids } },
      )
    },
  }
}

/** Goes through the untouched records with their values of the changed fields, in a transaction for each step. */
async function eachStep(
  db: Database['system'],
  change: TypeChange,
  changes: readonly Change[],
  look: (records: readonly NewRecord[], tx: Queryable) => Promise<Contradiction[]>,
  found: ReturnType<typeof createReport>,
): Promise<void> {
  const keys = changes.map(({ key }) => key)
  for (let last: string | null = null; ; ) {
    const step = async (tx: Queryable) => {
      await hold(tx, change)
      const records = await listRecordsAfter(tx, change.organizationId, change.dataTypeId, {
        ...STEP,
        after: last,
        keys,
      })
      const contradictions = records.length > 0 ? await look(records, tx) : []
      return { last: records.at(-1)?._id ?? null, contradictions }
    }
    const looked = await retryConflict(() => db.transaction(step), STEP_ATTEMPTS)
    found.add(looked.contradictions)
    last = looked.last
    if (last === null) return
    await setImmediate()
  }
}

/**
 * References that lead to no record, or to a record of another type. The others cannot be deleted any more: they are locked
 * until the step commits, and then whoever deletes one finds the field among those that change (`listChangingFields`).
 */
async function listBroken(
  tx: Queryable,
  organizationId: string,
  changes: readonly Change[],
  records: readonly NewRecord[],
): Promise<Contradiction[]> {
  const fields = changes.flatMap(({ after }) => (after?.type === 'reference' ? [after] : []))
  const readable = records.map(({ _id, data }) => ({
    _id,
    data: Object.fromEntries(
      fields.flatMap(field => {
        const checked = checkValue(field, data[field.key])
        return 'value' in checked ? [[field.key, checked.value]] : []
      }),
    ),
  }))
  const broken = await listBrokenReferences(tx, organizationId, { fields }, readable)
  return broken.map(({ recordId, key }) => ({ id: recordId, key }))
}
