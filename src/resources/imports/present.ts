import type { Import, RowError } from '../../../db/queries/imports.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { dataAccess } from '../data/access.ts'
import { OF_HIDDEN_FIELD, withoutDifferences } from './report.ts'

/**
 * An import as a caller sees it, or null where its role does not import into that type. Of fields that the role restricts there is
 * nothing in it, except for whoever sent the file: what that file itself holds of them.
 */
export function showImport(found: Import, caller: Caller) {
  const {
    userId,
    format,
    dataTypeId,
    dataTypeName,
    mapping,
    failures,
    countsSep: _countsSep,
    primaryKey: _primaryKey,
    ...rest
  } = found
  if (!dataAccess(caller, 'import/data').grants(dataTypeId)) return null
  const access = dataAccess(caller, 'view/data')
  const isOwn = userId === caller.userId
  const hides = (key: string) => !isOwn && access.hides(dataTypeId, key)
  // A record of JSON holds more than its mapping names.
  const isPartial = !isOwn && access.hidesAnyOf(dataTypeId)
  // The mapping of JSON names every field of the type, whatever the file holds.
  const names = (key: string) => (format === 'json' ? !access.hides(dataTypeId, key) : !hides(key))
  const show = <Failure extends RowError>(failure: Failure): Failure => {
    if (failure.field !== null && hides(failure.field)) return { ...failure, ...OF_HIDDEN_FIELD }
    if (!isPartial) return failure
    // What is said of the row as a whole may be all of it.
    const value = failure.field === null ? null : failure.value
    return { ...failure, value, message: withoutDifferences(failure.message) }
  }
  return {
    ...rest,
    dataType: { _id: dataTypeId, name: dataTypeName },
    mapping: Object.fromEntries(Object.entries(mapping).filter(([key]) => names(key))),
    failures: failures.map(show),
  }
}
