import type { Import, RowError } from '../../../db/queries/imports.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { dataAccess } from '../data/access.ts'
import { OF_HIDDEN_FIELD, withoutDifferences } from './report.ts'

/** The permissions that undoing an import needs: it deletes records, and changes others. */
export const UNDO_NEEDS = ['import/data', 'delete/data', 'update/data'] as const

/**
 * Whether a role may undo imports into a type. An undo of somebody else's puts back the former values of every field, so no field
 * may be hidden from the role or closed to it.
 */
export const mayUndo = (
  caller: Parameters<typeof dataAccess>[0],
  dataTypeId: string,
  isOwn: boolean,
): boolean =>
  dataAccess(caller, ...UNDO_NEEDS).grants(dataTypeId) &&
  (isOwn || !dataAccess(caller, 'view/data', ...UNDO_NEEDS).hidesAnyOf(dataTypeId))

/** Whether an import has ended and has something left to undo. */
export const isUndoable = ({ status, isRemembered, undo }: Import): boolean =>
  status !== 'queued' &&
  status !== 'processing' &&
  isRemembered &&
  (undo === null || undo.status === 'failed')

/**
 * An import as a caller sees it, or null if its role may not import into that type. Fields that the role restricts are
 * left out, except for the user who sent the file: that user sees the file's own values.
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
    isRemembered: _isRemembered,
    ...rest
  } = found
  if (!dataAccess(caller, 'import/data').grants(dataTypeId)) return null
  const access = dataAccess(caller, 'view/data')
  const isOwn = userId === caller.userId
  const hides = (key: string) => !isOwn && access.hides(dataTypeId, key)
  // A JSON record may hold more than its mapping names.
  const isPartial = !isOwn && access.hidesAnyOf(dataTypeId)
  // The mapping of JSON names every field of the type, even those that the file lacks.
  const names = (key: string) => (format === 'json' ? !access.hides(dataTypeId, key) : !hides(key))
  const show = <Failure extends RowError>(failure: Failure): Failure => {
    if (failure.field !== null && hides(failure.field)) return { ...failure, ...OF_HIDDEN_FIELD }
    if (!isPartial) return failure
    // The value of an error about the whole row may be the whole row.
    const value = failure.field === null ? null : failure.value
    return { ...failure, value, message: withoutDifferences(failure.message) }
  }
  return {
    ...rest,
    dataType: { _id: dataTypeId, name: dataTypeName },
    mapping: Object.fromEntries(Object.entries(mapping).filter(([key]) => names(key))),
    failures: failures.map(show),
    canUndo: isUndoable(found) && mayUndo(caller, dataTypeId, isOwn),
  }
}
