import { isUuid, type Queryable } from '../../../db/client.ts'
import { faultOf, reachesAlike } from '../../../db/grants.ts'
import { listFieldKeys } from '../../../db/queries/data-types.ts'
import type { PermissionDetail } from '../../../db/schema/roles.ts'
import { type FieldError, FieldErrors, invalid } from '../../http/errors.ts'
import { isPermission } from '../../http/permissions.ts'

/** The maximum of a role, which is read with every request of its users: 300 types, or 3,000 restricted fields. */
const MAX_BYTES = 32 * 1024
const TOO_LARGE =
  'A role has at most 32 KiB of permissions, written as JSON: name fewer data types or fields.'

/**
 * Checks that every permission is unambiguous (contract section 4): 400 with the places of those that are not. A
 * deleted data type or field that the role named before stays in it: without its last type, a permission would cover
 * all types. Resolves to the deleted ones that stay, by their places.
 */
export async function checkDetails(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
  before: readonly PermissionDetail[] = [],
): Promise<FieldError[]> {
  if (Buffer.byteLength(JSON.stringify(details)) > MAX_BYTES) throw invalid('permissionDetails', TOO_LARGE)
  const missing = await findMissing(tx, organizationId, details)
  const kept = new Set(before.flatMap(namesOf))
  const isNew = ({ name, typeName }: Missing) => !kept.has(name) && (typeName === null || kept.has(typeName))
  const firsts = new Map<string, PermissionDetail>()
  const errors = details.flatMap((detail, index): FieldError[] => {
    const place = `permissionDetails.${index}`
    const { permissionName } = detail
    if (!isPermission(permissionName)) {
      return [
        {
          path: `${place}.permissionName`,
          code: 'not-found',
          message: `There is no permission ${permissionName}.`,
        },
      ]
    }
    const fault = faultOf(detail)
    if (fault) return [{ path: `${place}.${fault.path}`, code: 'invalid', message: fault.message }]
    const first = firsts.get(permissionName)
    firsts.set(permissionName, first ?? detail)
    if (first && !reachesAlike(first, detail)) {
      const message = `${permissionName} is named twice, and each time it reaches another way. Name it once.`
      return [{ path: `${place}.permissionName`, code: 'not-unique', message }]
    }
    return toErrors((missing[index] ?? []).filter(isNew))
  })
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
  return listTopmost(missing)
}

/** The deleted data types and fields that a role names, by their places. */
export async function listGone(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
): Promise<FieldError[]> {
  return listTopmost(await findMissing(tx, organizationId, details))
}

/** Leaves out the fields of a type that is itself missing. */
const listTopmost = (missing: readonly Missing[][]): FieldError[] =>
  toErrors(missing.flat().filter(({ typeName }) => typeName === null))

const toErrors = (missing: readonly Missing[]): FieldError[] =>
  missing.map(({ path, code, message }) => ({ path, code, message }))

/** A data type or field that a permission names but that does not exist. */
interface Missing extends FieldError {
  /** The permission, the type and the field. */
  name: string
  /** The name of the missing type if the entry is one of its fields, else null. */
  typeName: string | null
}

/** The missing data types and fields of each permission. */
async function findMissing(
  tx: Queryable,
  organizationId: string,
  details: readonly PermissionDetail[],
): Promise<Missing[][]> {
  const named = details.flatMap(({ dataTypes = [] }) => dataTypes.map(({ dataTypeId }) => dataTypeId))
  const ids = [...new Set(named.filter(isUuid))]
  const types = ids.length > 0 ? await listFieldKeys(tx, organizationId, ids) : []
  const fields = new Map(types.map(({ _id, keys }) => [_id, new Set(keys)]))
  return details.map(({ permissionName, dataTypes = [] }, index) =>
    dataTypes.flatMap(({ dataTypeId, restrictedFields }, at): Missing[] => {
      const place = `permissionDetails.${index}.dataTypes.${at}`
      const known = fields.get(dataTypeId)
      const name = nameOf(permissionName, dataTypeId)
      const [code, message] = ['not-found' as const, 'There is no such data type.']
      return [
        ...(known ? [] : [{ path: `${place}.dataTypeId`, code, message, name, typeName: null }]),
        ...restrictedFields.flatMap((key, nth) => {
          if (known?.has(key)) return []
          const path = `${place}.restrictedFields.${nth}`
          const message = 'The data type has no such field.'
          return [{ path, code, message, name: `${name} ${key}`, typeName: known ? null : name }]
        }),
      ]
    }),
  )
}

const nameOf = (permissionName: string, dataTypeId: string) => `${permissionName} ${dataTypeId}`

/** The data types and fields that a detail names. */
const namesOf = ({ permissionName, dataTypes = [] }: PermissionDetail): string[] =>
  dataTypes.flatMap(({ dataTypeId, restrictedFields }) => {
    const name = nameOf(permissionName, dataTypeId)
    return [name, ...restrictedFields.map(key => `${name} ${key}`)]
  })
