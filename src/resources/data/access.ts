import { grantOf } from '../../../db/grants.ts'
import type { DataType } from '../../../db/queries/data-types.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { PermissionDetail } from '../../../db/schema/roles.ts'
import { RequestError } from '../../http/errors.ts'
import type { Permission } from '../../http/permissions.ts'

/**
 * The one place that decides which data types and fields a role may read or write (specification 5.3, contract section
 * 4). All code that shows values of records asks here.
 *
 * A permission without `dataTypes` covers every type, one with them covers those types alone. If several permissions
 * are needed, each must cover the type, and a field that any of them restricts is restricted.
 */
export interface DataAccess {
  /** Whether the permission covers the type. */
  grants(dataTypeId: string): boolean
  /** The types that it covers, or null for all of them. */
  dataTypeIds: string[] | null
  /** Whether any field of any type is restricted. */
  restrictsAnything: boolean
  /** Whether it covers every field of every type, including those created in the future. */
  seesEverything: boolean
  /** Whether a field is hidden, by itself or with its whole type. */
  hides(dataTypeId: string, key: string): boolean
  /** Whether any field of a type is hidden. */
  hidesAnyOf(dataTypeId: string): boolean
  /** The values that may be seen; only those of `keys` if given. */
  visible(dataTypeId: string, data: Values, keys?: readonly string[]): Values
  /** Throws 403 with the hidden ones if any of these keys is hidden. */
  checkKeys(dataTypeId: string, keys: readonly string[]): void
}

export function dataAccess(
  { permissionDetails }: { permissionDetails: readonly PermissionDetail[] },
  ...permissions: readonly DataPermission[]
): DataAccess {
  // A cached role (db/queries/granted.ts) is frozen and checked often, so its access is computed once.
  if (!Object.isFrozen(permissionDetails)) return readAccess(permissionDetails, permissions)
  const known = answers.get(permissionDetails) ?? new Map<string, DataAccess>()
  answers.set(permissionDetails, known)
  const name = permissions.join()
  const access = known.get(name) ?? readAccess(permissionDetails, permissions)
  known.set(name, access)
  return access
}

type DataPermission = Extract<Permission, `${string}/data`>

const answers = new WeakMap<readonly PermissionDetail[], Map<string, DataAccess>>()

function readAccess(
  permissionDetails: readonly PermissionDetail[],
  permissions: readonly DataPermission[],
): DataAccess {
  const grants = permissions.map(name => grantOf(permissionDetails, name))
  const restricted = new Map<string, Set<string>>()
  for (const type of grants.flatMap(grant => grant?.dataTypes ?? [])) {
    const keys = restricted.get(type.dataTypeId) ?? new Set()
    for (const key of type.restrictedFields) keys.add(key)
    restricted.set(type.dataTypeId, keys)
  }
  const everywhere = grants.every(grant => grant !== null && !grant.dataTypes)
  const granted = grants.map(
    grant => grant?.dataTypes && new Set(grant.dataTypes.map(({ dataTypeId }) => dataTypeId)),
  )
  const grantsType = (dataTypeId: string) =>
    grants.every((grant, index) => grant !== null && (granted[index]?.has(dataTypeId) ?? true))
  const hides = (dataTypeId: string, key: string) =>
    !grantsType(dataTypeId) || (restricted.get(dataTypeId)?.has(key) ?? false)

  return {
    grants: grantsType,
    dataTypeIds: everywhere ? null : [...restricted.keys()].filter(grantsType),
    restrictsAnything: [...restricted.values()].some(keys => keys.size > 0),
    seesEverything: everywhere,
    hides,
    hidesAnyOf: dataTypeId => !grantsType(dataTypeId) || (restricted.get(dataTypeId)?.size ?? 0) > 0,
    visible: (dataTypeId, data, keys = Object.keys(data)) =>
      Object.fromEntries(
        keys.filter(key => Object.hasOwn(data, key) && !hides(dataTypeId, key)).map(key => [key, data[key]]),
      ),
    checkKeys(dataTypeId, keys) {
      const found = keys.filter(key => hides(dataTypeId, key))
      if (found.length > 0) throw restrictedFields(found)
    },
  }
}

/** Specification 5.3, rule 2. */
export function restrictedFields(keys: readonly string[]): RequestError {
  const restricted = [...new Set(keys)]
  return new RequestError('restricted-field', `Your role may not see ${restricted.join(', ')}.`, {
    restrictedFields: restricted,
  })
}

/** The visible fields of a type, in their order. */
export const visibleKeys = (access: DataAccess, type: DataType): string[] =>
  type.fields.map(({ key }) => key).filter(key => !access.hides(type._id, key))
