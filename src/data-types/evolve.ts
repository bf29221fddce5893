import type { Queryable } from '../../db/client.ts'
import {
  deleteKeysOfField,
  holdRecords,
  insertKeys,
  listRecordsAfter,
  type NewRecord,
} from '../../db/queries/data.ts'
import type { DataType, NewDataType } from '../../db/queries/data-types.ts'
import type { Field } from '../../db/schema/flows.ts'
import { checkValue } from '../data/values.ts'
import { RequestError } from '../errors.ts'
import { findField, ruleOf } from './schemas.ts'

/** How many records are looked at in one statement, so that none runs into the time that statements have. */
const BATCH = 2_000
/** How many identifiers an answer names. */
const NAMED = 100

interface Change {
  key: string
  before: Field | undefined
  after: Field | undefined
}

/** The fields whose rules differ, those that are new or gone among them. */
export function changedFields(before: DataType, after: NewDataType): Change[] {
  const keys = new Set([...before.fields, ...after.fields].map(({ key }) => key))
  return [...keys]
    .map(key => ({ key, before: findField(before, key), after: findField(after, key) }))
    .filter(change => ruleOf(change.before) !== ruleOf(change.after))
}

/**
 * Looks whether existing records keep the rules that a type is to have, and brings the values of its unique fields up
 * to date. The transaction holds the type FOR UPDATE, so no record is written meanwhile. 409 with the records that
 * contradict.
 */
export async function evolve(
  tx: Queryable,
  organizationId: string,
  before: DataType,
  after: NewDataType,
): Promise<void> {
  const changes = changedFields(before, after).filter(mayContradict)
  const unique = changes.flatMap(({ after }) => (after?.unique ? [after] : []))
  for (const { key, before: was } of changes) {
    if (was?.unique) await deleteKeysOfField(tx, organizationId, before._id, key)
  }
  if (changes.length === 0) return

  const contradicting = new Set<string>()
  const fields = new Set<string>()
  for (let last: string | null = null; ; ) {
    const records: NewRecord[] = await listRecordsAfter(tx, organizationId, before._id, last, BATCH)
    last = records.at(-1)?._id ?? null
    if (last === null) break
    const found = [
      ...records.flatMap(record =>
        changes.flatMap(change => (contradicts(change, record) ? [{ id: record._id, key: change.key }] : [])),
      ),
      ...(await listBroken(tx, organizationId, changes, records)),
      ...(await insertKeys(tx, organizationId, before._id, unique, records)).map(({ recordId, field }) => ({
        id: recordId,
        key: field,
      })),
    ]
    for (const { id, key } of found) {
      contradicting.add(id)
      fields.add(key)
    }
  }
  if (contradicting.size === 0) return
  const count = contradicting.size
  throw new RequestError(
    'conflict',
    `${count} ${count === 1 ? 'record contradicts' : 'records contradict'} the new rules of ${[...fields].join(', ')}. ` +
      'Change them first.',
    { conflicts: { count, ids: [...contradicting].slice(0, NAMED) } },
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
): Promise<{ id: string; key: string }[]> {
  const references = changes.flatMap(({ key, after }) =>
    after?.type === 'reference'
      ? records.flatMap(({ _id, data }) => {
          const checked = checkValue(after, data[key])
          return 'value' in checked ? [{ id: _id, key, to: String(checked.value), field: after }] : []
        })
      : [],
  )
  if (references.length === 0) return []
  const known = await holdRecords(tx, organizationId, [...new Set(references.map(({ to }) => to))])
  return references.filter(({ to, field }) => {
    const type = known.get(to)
    return type === undefined || (field.dataTypeId !== null && field.dataTypeId !== type)
  })
}
