import type { Import } from '../../../db/queries/imports.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { dataAccess } from '../../data/access.ts'

/**
 * An import as a caller sees it, or null where its role does not import into that type. Values of fields that the role
 * restricts are out, except for whoever sent them.
 */
export function showImport(found: Import, caller: Caller) {
  const { userId, format: _format, dataTypeId, dataTypeName, failures, ...rest } = found
  if (!dataAccess(caller, 'import/data').grants(dataTypeId)) return null
  const access = dataAccess(caller, 'view/data')
  const isOwn = userId === caller.userId
  return {
    ...rest,
    dataType: { _id: dataTypeId, name: dataTypeName },
    failures: failures.map(failure =>
      isOwn || failure.field === null || !access.hides(dataTypeId, failure.field)
        ? failure
        : { ...failure, value: null },
    ),
  }
}
