import { acrossOrganizations, isUuid, type Queryable } from '../../../db/client.ts'
import { listRecordValues, lockRecords } from '../../../db/queries/data.ts'
import type { Flow } from '../../../db/queries/flows.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'

/** More is no longer a note, and would make a page of tasks long. */
export const MAX_CONTENT_BYTES = 64 * 1024
/** Records whose values one statement reads; each has at most 256 KiB. */
const READ_AT_ONCE = 10

export const fieldsOf = ({ steps }: Flow): Map<string, Field> =>
  new Map(steps.flatMap(({ fields }) => fields.map(field => [field.key, field] as const)).reverse())

/** Whether content fits into a task. */
export const fits = (content: Values): boolean =>
  Buffer.byteLength(JSON.stringify(content)) <= MAX_CONTENT_BYTES

/**
 * The content of a new task: the given values, and for the other fields of its flow the values of its records under the
 * same key, from the first record that has one. Null if it would exceed a task's maximum; no more than that is read.
 */
export async function gatherContent(
  tx: Queryable,
  organizationId: string,
  flow: Flow,
  { content: given, dataIds }: { content: Values; dataIds: readonly string[] },
): Promise<Values | null> {
  const missing = new Set([...fieldsOf(flow).keys()].filter(key => !Object.hasOwn(given, key)))
  const content = withoutNulls(given)
  for (let at = 0; at < dataIds.length && missing.size > 0; at += READ_AT_ONCE) {
    const ids = dataIds.slice(at, at + READ_AT_ONCE)
    const found = await acrossOrganizations(tx, () => listRecordValues(tx, organizationId, ids, [...missing]))
    for (const [key, value] of ids.flatMap(id => Object.entries(found.get(id) ?? {})))
      if (missing.delete(key)) content[key] = value
    if (!fits(content)) return null
  }
  return fits(content) ? content : null
}

/** The data types of existing records, by the records' identifiers. */
export async function findDataTypes(
  tx: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const asked = ids.filter(isUuid)
  if (asked.length === 0) return new Map()
  return acrossOrganizations(tx, () => lockRecords(tx, organizationId, asked, ''))
}

export const withoutNulls = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
