import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { type PermissionDetail, roles } from '../schema/roles.ts'
import { type Page, type PageRequest, readPage, storedBytes } from './page.ts'

export type Role = Shown<typeof roles>

const COLUMNS = shownColumns(roles, 'r')

export const ROLE_SORTS = {
  name: { sql: 'lower(r.name)', type: 'text' },
  createdAt: { sql: 'r.created_at', type: 'timestamptz' },
} as const

export function listRoles(tx: Queryable, page: PageRequest): Promise<Page<Role>> {
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'roles r',
      where: [],
      values: [],
      bytes: storedBytes('r.permission_details'),
      id: 'r.id',
      sorts: ROLE_SORTS,
      search: ['r.name'],
    },
    page,
  )
}

/** A role of the organization, or null. */
export async function findRole(tx: Queryable, id: string): Promise<Role | null> {
  const [row] = await tx.query<Role>(`SELECT ${COLUMNS} FROM roles r WHERE r.id = $1`, [id])
  return row ?? null
}

export interface NewRole {
  name: string
  permissionDetails: PermissionDetail[]
}

export async function insertRole(tx: Queryable, organizationId: string, role: NewRole): Promise<string> {
  const [id] = await insertRoles(tx, organizationId, [{ ...role, isDefault: false }])
  return id as string
}

/** Returns the identifiers in the given order. */
export async function insertRoles(
  tx: Queryable,
  organizationId: string,
  given: readonly (NewRole & { isDefault: boolean })[],
): Promise<string[]> {
  const rows = given.map(role => ({ ...role, id: newId(), organizationId }))
  if (rows.length > 0) await tx.orm.insert(roles).values(rows)
  return rows.map(row => row.id)
}

export async function updateRole(tx: Queryable, id: string, role: NewRole): Promise<void> {
  await tx.orm
    .update(roles)
    .set({ ...role, updatedAt: sql`now()` })
    .where(eq(roles.id, id))
}

/** Whether any user or API key has the role, active or not. */
export async function isRoleHeld(tx: Queryable, id: string): Promise<boolean> {
  const [row] = await tx.query('SELECT id FROM users WHERE role_id = $1 LIMIT 1', [id])
  return row !== undefined
}

/** Deletes a role. Violates a foreign key (class 23) while a user or an API key holds it. */
export async function deleteRole(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(roles).where(eq(roles.id, id))
}
