import type { Queryable } from '../../../db/client.ts'
import type { AuditEntry } from '../../../db/queries/audit-log.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { dataAccess } from '../data/access.ts'
import { hidesContent, readTypes } from '../tasks/present.ts'

/** The prefix of record values' names in `changes`, for each resource that has some. */
const VALUE_PREFIXES: { [resource: string]: string } = {
  data: '',
  task: 'content.',
  'task-schedule': 'content.',
}

/**
 * Resolves to a function that shows these entries to a caller, without the names of values that its role hides. Such a
 * name would reveal that a hidden value exists, and its absence that a write guessed the value.
 */
export async function createEntryPresenter(db: Queryable, caller: Caller, entries: readonly AuditEntry[]) {
  const access = dataAccess(caller, 'view/data')
  const named = entries.map(({ dataTypeIds }) => ({ dataTypeIds: dataTypeIds ?? [] }))
  const types = await readTypes(db, caller.organizationId, named)

  const hides = ({ resource, dataTypeIds }: AuditEntry, key: string): boolean => {
    if (dataTypeIds === null) return !access.seesEverything
    if (resource === 'data') return dataTypeIds.some(typeId => access.hides(typeId, key))
    return hidesContent(access, { dataTypeIds }, types, key)
  }
  return (entry: AuditEntry) => {
    const { dataTypeIds, apiKeyName, userId: by, ...rest } = entry
    const isKey = apiKeyName !== null && by !== null
    const shown = {
      ...rest,
      userId: isKey ? null : by,
      apiKey: isKey ? { _id: by, name: apiKeyName } : null,
    }
    const prefix = VALUE_PREFIXES[entry.resource]
    if (prefix === undefined) return shown
    const isVisible = (field: string) =>
      !field.startsWith(prefix) || !hides(entry, field.slice(prefix.length))
    const changes = Object.entries(entry.changes).filter(([field]) => isVisible(field))
    return { ...shown, changes: Object.fromEntries(changes) }
  }
}
