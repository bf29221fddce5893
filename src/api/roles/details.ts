import { isUuid, type Queryable } from '../../../db/client.ts'
import { faultOf, reachesAlike } from '../../../db/grants.ts'
import { listDataTypesById } from '../../../db/queries/data-types.ts'
import type { PermissionDetail } from '../../../db/schema/roles.ts'
import { type FieldError, FieldErrors } from '../../http/errors.ts'
import { isPermission } from '../../http/permissions.ts'

/** Checks that every detail says something clear (contract section 4): 400 with the places of those that do not. */
export async function checkDetails(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
): Promise<void> {
  const named = details.flatMap(({ dataTypes = [] }) => dataTypes.map(({ dataTypeId }) => dataTypeId))
  const types = named.length > 0 ? await listDataTypesById(tx, organizationId, named.filter(isUuid)) : []
  const fields = new Map(types.map(type => [type._id, new Set(type.fields.map(({ key }) => key))]))
  const errors = details.flatMap((detail, index): FieldError[] => {
    const place = `permissionDetails.${index}`
    const { permissionName, dataTypes = [] } = detail
    if (!isPermission(permissionName)) {
      return [{ path: `${place}.permissionName`, message: `There is no permission ${permissionName}.` }]
    }
    const fault = faultOf(detail)
    if (fault) return [{ path: `${place}.${fault.path}`, message: fault.message }]
    const before = details.slice(0, index).find(other => other.permissionName === permissionName)
    if (before && !reachesAlike(before, detail)) {
      const message = `${permissionName} is named twice, and each time it reaches another way. Name it once.`
      return [{ path: `${place}.permissionName`, message }]
    }
    return dataTypes.flatMap(({ dataTypeId, restrictedFields }, at) => {
      const known = fields.get(dataTypeId)
      if (!known) {
        return [{ path: `${place}.dataTypes.${at}.dataTypeId`, message: 'There is no such data type.' }]
      }
      return restrictedFields.flatMap((key, nth) =>
        known.has(key)
          ? []
          : [
              {
                path: `${place}.dataTypes.${at}.restrictedFields.${nth}`,
                message: 'The data type has no such field.',
              },
            ],
      )
    })
  })
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
}
