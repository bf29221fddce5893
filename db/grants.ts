import type { PermissionDetail } from './schema/roles.ts'

/**
 * Reads the permissions of a role. A role fails closed: an ambiguous permission is rejected when it is written
 * (src/resources/roles/details.ts), and grants nothing if it is stored all the same.
 */
const SCOPES = ['all', 'team', 'own'] as const

/** Resources with owners, for which a permission can be limited to the own teams or the user itself. */
const OWNED_RESOURCES = /\/(user|team|task|location)$/
/** New users and teams have no owner yet. */
const MADE_FOR_ALL = /^create\/(user|team)$/
/** Only these depend on the type of a record, so only these can be limited to some types. */
const PER_DATA_TYPE = /\/data$/

/** The scopes that a permission may have. */
export function scopesOf(permission: string): readonly PermissionDetail['scope'][] {
  return OWNED_RESOURCES.test(permission) && !MADE_FOR_ALL.test(permission) ? SCOPES : ['all']
}

/** Whether a permission may be limited to some data types. */
export const isPerDataType = (permission: string): boolean => PER_DATA_TYPE.test(permission)

/** The reason why a permission is not valid, with its place in it; null if it is valid. */
export function faultOf(detail: PermissionDetail): { path: string; message: string } | null {
  const { permissionName, scope = 'all', dataTypes } = detail
  if (!scopesOf(permissionName).includes(scope)) {
    return { path: 'scope', message: `${permissionName} holds for everything or not at all: scope all.` }
  }
  if (dataTypes === undefined) return null
  if (!isPerDataType(permissionName)) {
    return { path: 'dataTypes', message: `${permissionName} does not hold for single data types.` }
  }
  if (!Array.isArray(dataTypes) || dataTypes.length === 0) {
    return { path: 'dataTypes', message: 'Name a data type, or leave dataTypes out to mean all of them.' }
  }
  const before = new Set<string>()
  const again = dataTypes.findIndex(({ dataTypeId }) => before.size === before.add(dataTypeId).size)
  return again < 0
    ? null
    : { path: `dataTypes.${again}.dataTypeId`, message: 'This data type is named twice.' }
}

/** Whether two entries of one permission grant exactly the same. */
export function reachesAlike(one: PermissionDetail, other: PermissionDetail): boolean {
  return reachOf(one) === reachOf(other)
}

function reachOf({ scope = 'all', dataTypes }: PermissionDetail): string {
  const types = dataTypes?.map(type => [type.dataTypeId, ...[...new Set(type.restrictedFields)].sort()])
  return JSON.stringify([scope, types?.sort() ?? 'all'])
}

/**
 * A role's entry for a permission, or null if the role lacks it. Every permission check asks here, so that a stored
 * role fails closed: an ambiguous entry grants nothing, and neither does a permission that is listed twice with
 * different reach.
 */
export function grantOf(
  permissionDetails: readonly PermissionDetail[],
  permission: string,
): PermissionDetail | null {
  // A cached role (queries/granted.ts) is frozen and checked often, so its answers are remembered.
  if (!Object.isFrozen(permissionDetails)) return findGrant(permissionDetails, permission)
  const found = answers.get(permissionDetails) ?? new Map<string, PermissionDetail | null>()
  answers.set(permissionDetails, found)
  const known = found.get(permission)
  if (known !== undefined) return known
  const grant = findGrant(permissionDetails, permission)
  // Names are those of the catalogue, except for ones that a client invents.
  if (found.size < MAX_ANSWERS) found.set(permission, grant)
  return grant
}

const answers = new WeakMap<readonly PermissionDetail[], Map<string, PermissionDetail | null>>()
const MAX_ANSWERS = 200

function findGrant(
  permissionDetails: readonly PermissionDetail[],
  permission: string,
): PermissionDetail | null {
  const [first, ...others] = permissionDetails.filter(detail => detail.permissionName === permission)
  if (!first || faultOf(first)) return null
  return others.every(other => reachesAlike(first, other)) ? { ...first, scope: first.scope ?? 'all' } : null
}

/** All permissions that a role grants, each once. */
export function grantsOf(permissionDetails: readonly PermissionDetail[]): PermissionDetail[] {
  const names = [...new Set(permissionDetails.map(({ permissionName }) => permissionName))]
  return names.flatMap(name => grantOf(permissionDetails, name) ?? [])
}
