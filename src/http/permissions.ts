import { grantOf, grantsOf } from '../../db/grants.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { PermissionDetail } from '../../db/schema/roles.ts'
import type { Visibility } from '../../db/visibility.ts'

/**
 * The catalogue of permissions, `action/resource` (contract section 4), and the roles that every organization has.
 */
const CRUD_RESOURCES = [
  'hub',
  'role',
  'user',
  'team',
  'vehicle',
  'data-type',
  'data',
  'flow',
  'task',
  'task-schedule',
  'device',
  'import-config',
  'webhook',
  'geofence',
  'connection',
  'api-key',
] as const

type Crud = `${'view' | 'create' | 'update' | 'delete'}/${(typeof CRUD_RESOURCES)[number] | 'organization'}`

export type Permission =
  | Crud
  | `${'view' | 'create'}/location`
  | `${'view' | 'create'}/command`
  | `${'view' | 'create' | 'delete'}/tracking-link`
  | 'import/data'
  | 'export/data'
  | 'export/task'
  | 'view/audit'

/** The access that a route requires: a permission, none, any signed-in session, or a device's key. */
export type Access = Permission | 'public' | 'session' | 'device'

const ACTIONS = ['view', 'create', 'update', 'delete'] as const

export const PERMISSIONS: readonly Permission[] = [
  ...[...CRUD_RESOURCES, 'organization' as const].flatMap(resource =>
    ACTIONS.map(action => `${action}/${resource}` as const),
  ),
  'view/location',
  'create/location',
  'view/command',
  'create/command',
  'view/tracking-link',
  'create/tracking-link',
  'delete/tracking-link',
  'import/data',
  'export/data',
  'export/task',
  'view/audit',
]

const KNOWN: ReadonlySet<string> = new Set(PERMISSIONS)

/** Whether the name is in the catalogue. */
export const isPermission = (name: string): name is Permission => KNOWN.has(name)

const grant = (names: readonly Permission[], scope: PermissionDetail['scope'] = 'all'): PermissionDetail[] =>
  names.map(permissionName => ({ permissionName, scope }))

/** Planners plan and watch work. They have no access to users, API keys, roles, webhooks or the audit log. */
const NOT_FOR_PLANNERS = /\/(role|user|api-key|webhook|audit|organization)$/

export const DEFAULT_ROLES: readonly { name: string; permissionDetails: PermissionDetail[] }[] = [
  { name: 'Owner', permissionDetails: grant(PERMISSIONS) },
  { name: 'Admin', permissionDetails: grant(PERMISSIONS.filter(name => name !== 'delete/organization')) },
  {
    name: 'Planner',
    permissionDetails: grant([
      ...PERMISSIONS.filter(name => !NOT_FOR_PLANNERS.test(name)),
      'view/organization',
    ]),
  },
  {
    name: 'Field user',
    permissionDetails: [
      ...grant(['view/task', 'update/task', 'view/location', 'create/location'], 'own'),
      ...grant(['view/data', 'view/data-type', 'view/flow', 'view/hub', 'view/vehicle', 'view/organization']),
    ],
  },
]

/** The scope of a role's permission, or null where the role lacks it. */
export function scopeOf(
  permissionDetails: readonly PermissionDetail[],
  permission: Permission,
): PermissionDetail['scope'] | null {
  return grantOf(permissionDetails, permission)?.scope ?? null
}

/** The positions that a caller may see: those in its role's scope that belong to its hubs or to no hub. */
export function visibilityOf(
  caller: Pick<Caller, 'organizationId' | 'userId' | 'teamIds' | 'hubIds' | 'permissionDetails'>,
): Visibility {
  const { organizationId, userId, teamIds, hubIds } = caller
  const scope = scopeOf(caller.permissionDetails, 'view/location')
  return {
    organizationId,
    subjectIds: scope === 'all' ? null : [userId],
    teamIds: scope === 'team' ? teamIds : [],
    hubIds,
  }
}

const REACH = { own: 0, team: 1, all: 2 } as const

/** Whether a user who holds `held` may grant `wanted`: no permission, scope or field that the user lacks. */
export function covers(held: readonly PermissionDetail[], wanted: PermissionDetail): boolean {
  const own = grantOf(held, wanted.permissionName)
  if (!own || REACH[own.scope] < REACH[wanted.scope]) return false
  if (!own.dataTypes) return true
  const ownTypes = new Map(own.dataTypes.map(type => [type.dataTypeId, type.restrictedFields]))
  return (
    wanted.dataTypes?.every(type => {
      const restricted = new Set(type.restrictedFields)
      return ownTypes.get(type.dataTypeId)?.every(field => restricted.has(field)) ?? false
    }) ?? false
  )
}

/** Owner and Admin work in every hub, whichever hubs they are given. */
const WORKS_IN_EVERY_HUB = new Set(['Owner', 'Admin'])

/**
 * Says in words why a role reaches further than the caller's own, or returns null if it does not. Nobody may give such
 * a role, or change, suspend, delete or reset a user who holds it (contract section 4).
 */
export function beyondReach(
  { isOwner, hubIds, permissionDetails }: Pick<Caller, 'isOwner' | 'hubIds' | 'permissionDetails'>,
  role: { name: string; isDefault: boolean; permissionDetails: readonly PermissionDetail[] },
): string | null {
  if (role.isDefault && role.name === 'Owner' && !isOwner) return 'is not Owner'
  if (role.isDefault && WORKS_IN_EVERY_HUB.has(role.name) && hubIds) return 'does not work in every hub'
  // A permission that has left the catalogue allows nothing.
  const granted = grantsOf(role.permissionDetails).filter(detail => isPermission(detail.permissionName))
  const lacking = granted.find(detail => !covers(permissionDetails, detail))
  return lacking ? `lacks ${lacking.permissionName} with that reach` : null
}

const VERBS = {
  view: 'See',
  create: 'Create',
  update: 'Change',
  delete: 'Delete',
  import: 'Import',
  export: 'Export',
}

const NOUNS: { [resource: string]: string } = {
  hub: 'hubs',
  role: 'roles',
  user: 'users',
  team: 'teams',
  vehicle: 'vehicles',
  'data-type': 'data types',
  data: 'data sources',
  flow: 'flows',
  task: 'tasks',
  'task-schedule': 'task schedules',
  device: 'devices',
  'import-config': 'import configs',
  webhook: 'webhooks',
  geofence: 'geofences',
  connection: 'connections',
  'api-key': 'API keys',
  organization: 'the organization',
  location: 'positions and their history',
  command: 'commands to devices',
  'tracking-link': 'tracking links',
  audit: 'the audit log',
}

const SPECIAL: { [name in Permission]?: string } = {
  'create/organization': 'Create an organization',
  'delete/organization': 'Delete the organization with everything in it',
  'create/command': 'Send commands to devices',
  'create/location': 'Send positions; with scope all, those of other subjects too',
}

/** The action that a permission allows, in words. */
export function describePermission(name: Permission): string {
  const [action, resource] = name.split('/') as [keyof typeof VERBS, string]
  return SPECIAL[name] ?? `${VERBS[action]} ${NOUNS[resource]}`
}
