import type { Permission, PermissionDetail } from '../../../api/roles.ts'

/** The permissions of a role by their names, in the order of the names, so that equal rights are equal as text. */
export type Rights = { [permissionName: string]: Right }
export type Right = Omit<PermissionDetail, 'permissionName'>

export const rightsOf = (details: readonly PermissionDetail[]): Rights =>
  Object.fromEntries(
    details
      .map(({ permissionName, ...right }) => [permissionName, right] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )

/** The rights with one of them changed, or without it. */
export function withRight(rights: Rights, name: string, right: Right | null): Rights {
  const { [name]: _, ...others } = rights
  return rightsOf(detailsOf(right ? { ...others, [name]: right } : others))
}

export const detailsOf = (rights: Rights): PermissionDetail[] =>
  Object.entries(rights).map(([permissionName, right]) => ({ permissionName, ...right }))

const resourceOf = (name: string) => name.slice(name.indexOf('/') + 1)

/** The permissions by what they are about, in the order of the catalogue. */
export function groupByResource(permissions: readonly Permission[]): [resource: string, Permission[]][] {
  const groups = new Map<string, Permission[]>()
  for (const permission of permissions) {
    const resource = resourceOf(permission.permissionName)
    groups.set(resource, [...(groups.get(resource) ?? []), permission])
  }
  return [...groups]
}
