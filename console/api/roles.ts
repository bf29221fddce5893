import { useQuery } from '@tanstack/react-query'
import { answered, api } from './client.ts'
import { useWorkspace } from './workspace.ts'

/** An organization has at most 200 roles. */
const ALL_ROLES = 500

const readRoles = async () =>
  (await answered(api.GET('/api/v3/roles', { params: { query: { limit: ALL_ROLES } } }))).data
const readPermissions = async () => (await answered(api.GET('/api/v3/permissions'))).data

export type Role = Awaited<ReturnType<typeof readRoles>>[number]
export type PermissionDetail = Role['permissionDetails'][number]
export type Permission = Awaited<ReturnType<typeof readPermissions>>[number]

/** All roles of the organization, the default ones first. */
export function useRoles() {
  const { may } = useWorkspace()
  return useQuery({ queryKey: ['roles'], enabled: may('view/role'), queryFn: readRoles })
}

/** Every permission that a role can carry. */
export function usePermissions() {
  const { may } = useWorkspace()
  return useQuery({ queryKey: ['permissions'], enabled: may('view/role'), queryFn: readPermissions })
}
