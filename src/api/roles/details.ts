import { isUuid, type Queryable } from '../../../db/client.ts'
import { faultOf, reachesAlike } from '../../../db/grants.ts'
import { listFieldKeys } from '../../../db/queries/data-types.ts'
import type { PermissionDetail } from '../../../db/schema/roles.ts'
import { type FieldError, FieldErrors, invalid } from '../../http/errors.ts'
import { isPermission } from '../../http/permissions.ts'

/** Of a role, which every request of its users goes by: 300 types, or 3,000 restricted fields. */
const MAX_BYTES = 32 * 1024
const TOO_LARGE =
  'A role has at most 32 KiB of permissions, written as JSON: name fewer data types or fields.'

/**
 * Checks that every detail says something clear (contract section 4): 400 with the places of those that do not. What the
 * role named before may be gone: it stays, for without the last type of a detail that would hold for all types.
 */
export async function checkDetails(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
  before: readonly PermissionDetail[] = [],
): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(details)) > MAX_BYTES) throw invalid('permissionDetails', TOO_LARGE)
  const missing = await findMissing(tx, organizationId, details)
  const kept = new Set(before.flatMap(namesOf))
  const firsts = new Map<string, PermissionDetail>()
  const errors = details.flatMap((detail, index): FieldError[] => {
    const place = `permissionDetails.${index}`
    const { permissionName } = detail
    if (!isPermission(permissionName)) {
      return [{ path: `${place}.permissionName`, message: `There is no permission ${permissionName}.` }]
    }
    const fault = faultOf(detail)
    if (fault) return [{ path: `${place}.${fault.path}`, message: fault.message }]
    const first = firsts.get(permissionName)
    firsts.set(permissionName, first ?? detail)
    if (first && !reachesAlike(first, detail)) {
      const message = `${permissionName} is named twice, and each time it reaches another way. Name it once.`
      return [{ path: `${place}.permissionName`, message }]
    }
    return (missing[index] ?? []).flatMap(({ name, ...error }) => (kept.has(name) ? [] : [error]))
  })
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
}

/** The data types and fields that a role names and that are no more, by their places. */
export async function listGone(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
): Promise<FieldError[]> {
  const missing = await findMissing(tx, organizationId, details)
  return missing.flat().map(({ path, message }) => ({ path, message }))
}

/** What each detail names and what is not there. */
async function findMissing(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
): Promise<(FieldError & { name: string })[][]> {
  const named = details.flatMap(({ dataTypes = [] }) => dataTypes.map(({ dataTypeId }) => dataTypeId))
  const ids = [...new Set(named.filter(isUuid))]
  const types = ids.length > 0 ? await listFieldKeys(tx, organizationId, ids) : []
  const fields = new Map(types.map(({ _id, keys }) => [_id, new Set(keys)]))
  return details.map(({ dataTypes = [] }, index) =>
    dataTypes.flatMap(({ dataTypeId, restrictedFields }, at) => {
      const place = `permissionDetails.${index}.dataTypes.${at}`
      const known = fields.get(dataTypeId)
      if (!known) {
        const path = `${place}.dataTypeId`
        return [{ path, message: 'There is no such data type.', name: dataTypeId }]
      }
      return restrictedFields.flatMap((key, nth) => {
        const path = `${place}.restrictedFields.${nth}`
        const message = 'The data type has no such field.'
        return known.has(key) ? [] : [{ path, message, name: nameOf(dataTypeId, key) }]
      })
    }),
  )
}

const nameOf = (dataTypeId: string, key: string) => `${dataTypeId} ${key}`

/** The data types and fields that a detail names. */
const namesOf = ({ dataTypes = [] }: PermissionDetail): string[] =>
  dataTypes.flatMap(({ dataTypeId, restrictedFields }) => [
    dataTypeId,
    ...restrictedFields.map(key => nameOf(dataTypeId, key)),
  ])
