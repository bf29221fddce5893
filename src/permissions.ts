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
      'view/user',
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
