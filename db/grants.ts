import type { PermissionDetail } from './schema/roles.ts'

/**
 * What the details of a role grant. A role fails closed: a detail that says nothing clear is rejected when it is written
 * (src/resources/roles/details.ts), and grants nothing where it is stored all the same.
 */
const SCOPES = ['all', 'team', 'own'] as const

/** Resources that belong to somebody, so that a permission can stop at the own teams or at oneself. */
const OWNED_RESOURCES = /\/(user|team|task|location)$/
/** Users and teams that are still to be made are nobody's. */
const MADE_FOR_ALL = /^create\/(user|team)$/
/** Only these look at the type of a record, so only these can hold for some types. */
const PER_DATA_TYPE = /\/data$/

/** The scopes that a permission knows. */
export function scopesOf(permission: string): readonly PermissionDetail['scope'][] {
  return OWNED_RESOURCES.test(permission) && !MADE_FOR_ALL.test(permission) ? SCOPES : ['all']
}

/** What keeps a detail from meaning anything, by its place in it; null where nothing does. */
export function faultOf(detail: PermissionDetail): { path: string; message: string } | null {
  const { permissionName, scope = 'all', dataTypes } = detail
  if (!scopesOf(permissionName).includes(scope)) {
    return { path: 'scope', message: `${permissionName} holds for everything or not at all: scope all.` }
  }
  if (dataTypes === undefined) return null
  if (!PER_DATA_TYPE.test(permissionName)) {
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

/** Whether two details of one permission reach exactly as far. */
export function reachesAlike(one: PermissionDetail, other: PermissionDetail): boolean {
  return reachOf(one) === reachOf(other)
}

function reachOf({ scope = 'all', dataTypes }: PermissionDetail): string {
  const types = dataTypes?.map(type => [type.dataTypeId, ...[...new Set(type.restrictedFields)].sort()])
  return JSON.stringify([scope, types?.sort() ?? 'all'])
}

/**
 * What a role holds of a permission, or null where it lacks it. Everything that asks what a role may do asks here, so
 * that a stored role fails closed: a detail that says nothing clear grants nothing, and neither does a permission that
 * is named twice with different reach.
 */
export function grantOf(
  permissionDetails: readonly PermissionDetail[],
  permission: string,
): PermissionDetail | null {
  // A role that is remembered (queries/granted.ts) is asked again and again, and never changes.
  if (!Object.isFrozen(permissionDetails)) return findGrant(permissionDetails, permission)
  const found = answers.get(permissionDetails) ?? new Map<string, PermissionDetail | null>()
  answers.set(permissionDetails, found)
  const known = found.get(permission)
  if (known !== undefined) return known
  const grant = findGrant(permissionDetails, permission)
  // Names are those of the catalogue, but for what a caller makes up.
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

/** What a role grants, a detail a permission. */
export function grantsOf(permissionDetails: readonly PermissionDetail[]): PermissionDetail[] {
  const names = [...new Set(permissionDetails.map(({ permissionName }) => permissionName))]
  return names.flatMap(name => grantOf(permissionDetails, name) ?? [])
}
