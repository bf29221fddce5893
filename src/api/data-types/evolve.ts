import { setImmediate } from 'node:timers/promises'
import type { Queryable } from '../../../db/client.ts'
import {
  deleteKeysOfField,
  insertKeys,
  listRecordsAfter,
  type NewRecord,
  newKeys,
  readMark,
} from '../../../db/queries/data.ts'
import type { DataType, NewDataType } from '../../../db/queries/data-types.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { checkValue } from '../../data/values.ts'
import { RequestError } from '../../http/errors.ts'
import { listBrokenReferences } from '../data/check.ts'
import { findField, ruleOf } from './schemas.ts'

/**
 * What is checked in one statement, in records and in what they hold: none runs into the time that statements have, nor
 * keeps the embedded database, or the event loop, from others for long.
 */
const BATCH = { limit: 2_000, maxBytes: 1024 * 1024 }
/** How many identifiers an answer names. */
const NAMED = 100

interface Change {
  key: string
  before: Field | undefined
  after: Field | undefined
}

/**
 * The fields on whose values the answer to a change may depend. Whatever of an existing field changes counts, so that
 * its rules stay as they are for who may not see it; a new one counts where every record has to have it.
 */
export const fieldsToldOf = (before: DataType, after: NewDataType): string[] =>
  changedFields(before, after)
    .filter(change => change.before !== undefined || mayContradict(change))
    .map(({ key }) => key)

/** The fields whose rules differ, those that are new or gone among them. */
function changedFields(before: DataType, after: NewDataType): Change[] {
  const keys = new Set([...before.fields, ...after.fields].map(({ key }) => key))
  return [...keys]
    .map(key => ({ key, before: findField(before, key), after: findField(after, key) }))
    .filter(change => ruleOf(change.before) !== ruleOf(change.after))
}

/** The type whose records were checked, and from where on others may have been written since. */
export interface Checkpoint {
  type: DataType
  mark: string
}

/**
 * Checks whether existing records keep the rules that a type is to have, while nothing is locked: it may take minutes. 409
 * with the records that contradict. What values are taken twice turns out in `evolve`.
 */
export async function checkRecords(
  db: Queryable,
  organizationId: string,
  type: DataType,
  after: NewDataType,
): Promise<Checkpoint> {
  const mark = await readMark(db)
  const changes = changedFields(type, after).filter(mayContradict)
  await eachBatch(db, organizationId, type, { changes, since: null }, async records => [
    ...listContradicting(changes, records),
    ...(await listBroken(db, organizationId, changes, records, '')),
  ])
  return { type, mark }
}

/**
 * The same in the transaction of the change, of what was written since, and brings the values of unique fields up to
 * date. It has locked the type FOR UPDATE, so no record is written meanwhile.
 */
export async function evolve(
  tx: Queryable,
  organizationId: string,
  before: DataType,
  after: NewDataType,
  checked: Checkpoint,
): Promise<void> {
  const changes = changedFields(before, after).filter(mayContradict)
  for (const { key, before: was } of changes) {
    if (was?.unique) await deleteKeysOfField(tx, organizationId, before._id, key)
  }
  const same = checked.type.updatedAt.getTime() === before.updatedAt.getTime()
  const since = same ? checked.mark : null
  await eachBatch(tx, organizationId, before, { changes, since }, async records =>
    listContradicting(changes, records),
  )
  const unique = changes.flatMap(({ after }) => (after?.unique ? [after] : []))
  const linked = changes.filter(({ after }) => after?.unique || after?.type === 'reference')
  await eachBatch(tx, organizationId, before, { changes: linked, since: null }, async records => {
    const taken = await insertKeys(tx, organizationId, before._id, newKeys(unique, records))
    return [
      ...(await listBroken(tx, organizationId, linked, records, 'FOR KEY SHARE')),
      ...taken.map(({ recordId, field }) => ({ id: recordId, key: field })),
    ]
  })
}

/** A record that contradicts, and the field of which it does. */
interface Contradiction {
  id: string
  key: string
}

/** Goes through the records, with their values of the changed fields. 409 with those that `find` names. */
async function eachBatch(
  db: Queryable,
  organizationId: string,
  type: DataType,
  { changes, since }: { changes: readonly Change[]; since: string | null },
  find: (records: readonly NewRecord[]) => Promise<Contradiction[]>,
): Promise<void> {
  if (changes.length === 0) return
  const keys = changes.map(({ key }) => key)
  const fields = new Set<string>()
  const ids: string[] = []
  let count = 0
  for (let last: string | null = null; ; ) {
    const records: NewRecord[] = await listRecordsAfter(db, organizationId, type._id, {
      ...BATCH,
      after: last,
      keys,
      since,
    })
    last = records.at(-1)?._id ?? null
    if (last === null) break
    const found = await find(records)
    for (const { key } of found) fields.add(key)
    // A record stands in one batch alone, so that the count is exact without remembering them all.
    const batch = [...new Set(found.map(({ id }) => id))]
    count += batch.length
    ids.push(...batch.slice(0, NAMED - ids.length))
    await setImmediate()
  }
  if (count === 0) return
  throw new RequestError(
    'conflict',
    `${count} ${count === 1 ? 'record contradicts' : 'records contradict'} the new rules of ${[...fields].join(', ')}. ` +
      'Change them first.',
    { conflicts: { count, ids } },
  )
}

/** What only loosens a rule, or adds a field that nobody has to fill in, contradicts nothing. */
function mayContradict({ before, after }: Change): boolean {
  if (!after) return true
  if (!before) return after.required
  return (
    after.type !== before.type ||
    (after.required && !before.required) ||
    after.unique !== before.unique ||
    (after.dataTypeId !== null && after.dataTypeId !== before.dataTypeId) ||
    before.options.some(option => !after.options.includes(option))
  )
}

const listContradicting = (changes: readonly Change[], records: readonly NewRecord[]): Contradiction[] =>
  records.flatMap(record =>
    changes.flatMap(change => (contradicts(change, record) ? [{ id: record._id, key: change.key }] : [])),
  )

function contradicts({ key, after }: Change, { data }: NewRecord): boolean {
  const present = Object.hasOwn(data, key)
  if (!after) return present
  if (!present) return after.required
  const checked = checkValue(after, data[key])
  return 'message' in checked || JSON.stringify(checked.value) !== JSON.stringify(data[key])
}

/** References that lead nowhere, or to a record of another type. */
async function listBroken(
  tx: Queryable,
  organizationId: string,
  changes: readonly Change[],
  records: readonly NewRecord[],
  lock: '' | 'FOR KEY SHARE',
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
  const broken = await listBrokenReferences(tx, organizationId, { fields }, readable, lock)
  return broken.map(({ recordId, key }) => ({ id: recordId, key }))
}
