import type { Caller } from '../db/queries/sessions.ts'
import type { Sight } from '../db/queries/sight.ts'
import type { PermissionDetail } from '../db/schema/roles.ts'

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
] as const

type Crud = `${'view' | 'create' | 'update' | 'delete'}/${(typeof CRUD_RESOURCES)[number] | 'organization'}`

export type Permission =
  | Crud
  | `${'view' | 'create'}/location`
  | `${'view' | 'create' | 'delete'}/tracking-link`
  | 'import/data'
  | 'export/data'
  | 'export/task'
  | 'view/audit'

/** What a route asks for: a permission, nothing, the caller's own session, or a device's key. */
export type Access = Permission | 'public' | 'session' | 'device'

const ACTIONS = ['view', 'create', 'update', 'delete'] as const

export const PERMISSIONS: readonly Permission[] = [
  ...[...CRUD_RESOURCES, 'organization' as const].flatMap(resource =>
    ACTIONS.map(action => `${action}/${resource}` as const),
  ),
  'view/location',
  'create/location',
  'view/tracking-link',
  'create/tracking-link',
  'delete/tracking-link',
  'import/data',
  'export/data',
  'export/task',
  'view/audit',
]

const grant = (names: readonly Permission[], scope: PermissionDetail['scope'] = 'all'): PermissionDetail[] =>
  names.map(permissionName => ({ permissionName, scope }))

/** Planners plan and watch work; they have nothing to do with users, roles, webhooks and the audit log. */
const NOT_FOR_PLANNERS = /\/(role|user|webhook|audit|organization)$/

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

/** How far a role's permission reaches, or null where the role lacks it. */
export function scopeOf(
  permissionDetails: readonly PermissionDetail[],
  permission: Permission,
): PermissionDetail['scope'] | null {
  const scopes = permissionDetails
    .filter(detail => detail.permissionName === permission)
    .map(detail => detail.scope ?? 'all')
  return scopes.includes('all')
    ? 'all'
    : scopes.includes('team')
      ? 'team'
      : scopes.includes('own')
        ? 'own'
        : null
}

/** Whose positions a caller may see: by the scope of its role, and of these those of its hubs and of none. */
export function sightOf(caller: Caller): Sight {
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

/** Whether somebody who holds these details may grant this one: no permission, reach or field that they lack. */
export function covers(held: readonly PermissionDetail[], wanted: PermissionDetail): boolean {
  const wide = held.filter(
    detail =>
      detail.permissionName === wanted.permissionName &&
      REACH[detail.scope ?? 'all'] >= REACH[wanted.scope ?? 'all'],
  )
  const everywhere = wide.some(detail => !detail.dataTypes)
  const own = held
    .filter(({ permissionName }) => permissionName === wanted.permissionName)
    .flatMap(({ dataTypes }) => dataTypes ?? [])
  // What any detail restricts is restricted (src/data/access.ts), so a plain detail does not reach past another one.
  if (!wanted.dataTypes)
    return everywhere && own.every(({ restrictedFields }) => restrictedFields.length === 0)
  return wanted.dataTypes.every(type => {
    const same = own.filter(({ dataTypeId }) => dataTypeId === type.dataTypeId)
    const hidden = same.flatMap(({ restrictedFields }) => restrictedFields)
    const reaches = wide.some(({ dataTypes }) => dataTypes?.some(own => own.dataTypeId === type.dataTypeId))
    return (everywhere || reaches) && hidden.every(field => type.restrictedFields.includes(field))
  })
}

const VERBS = {
  view: 'See',
  create: 'Make',
  update: 'Change',
  delete: 'Remove',
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
  organization: 'the organization',
  location: 'positions and their history',
  'tracking-link': 'tracking links',
  audit: 'the audit log',
}

const SPECIAL: { [name in Permission]?: string } = {
  'create/organization': 'Create an organization',
  'delete/organization': 'Give up the organization with everything in it',
  'create/location': 'Send positions; with scope all, those of other subjects too',
}

/** What a permission allows, in words. */
export function describePermission(name: Permission): string {
  const [action, resource] = name.split('/') as [keyof typeof VERBS, string]
  return SPECIAL[name] ?? `${VERBS[action]} ${NOUNS[resource]}`
}
