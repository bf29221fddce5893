import { eq } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { accounts } from '../schema/accounts.ts'
import { organizations } from '../schema/organizations.ts'
import { type PermissionDetail, roles } from '../schema/roles.ts'
import { subjects, users } from '../schema/users.ts'

/** An account's active membership in an organization, as the interface lists it (specification 2.2). */
export interface Membership {
  userId: string
  organizationId: string
  organizationName: string
  organizationLogo: string | null
  roleName: string
}

export async function hasAccounts(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>('SELECT EXISTS (SELECT FROM accounts) AS found')
  return row?.found ?? false
}

/** The account of an address (compared without case), or null. */
export async function findAccount(
  db: Queryable,
  email: string,
): Promise<{ id: string; email: string; passwordHash: string } | null> {
  const [row] = await db.query<{ id: string; email: string; passwordHash: string }>(
    'SELECT id, email, password_hash AS "passwordHash" FROM accounts WHERE lower(email) = lower($1)',
    [email],
  )
  return row ?? null
}

/** The active memberships of an account, the one used last first. */
export async function listMemberships(db: Queryable, accountId: string): Promise<Membership[]> {
  return db.query(
    `SELECT u.id AS "userId", o.id AS "organizationId", o.name AS "organizationName",
       o.logo AS "organizationLogo", r.name AS "roleName"
     FROM users u JOIN organizations o ON o.id = u.organization_id JOIN roles r ON r.id = u.role_id
     WHERE u.account_id = $1 AND u.status = 'active'
     ORDER BY u.last_active_at DESC NULLS LAST, u.created_at`,
    [accountId],
  )
}

/** An organization with its default roles. Returns the roles' identifiers by name. */
export async function insertOrganization(
  tx: Queryable,
  organization: { id: string; name: string },
  defaultRoles: readonly { name: string; permissionDetails: PermissionDetail[] }[],
): Promise<Map<string, string>> {
  await tx.orm.insert(organizations).values(organization)
  const rows = defaultRoles.map(role => ({
    ...role,
    id: newId(),
    organizationId: organization.id,
    isDefault: true,
  }))
  await tx.orm.insert(roles).values(rows)
  return new Map(rows.map(role => [role.name, role.id]))
}

export async function insertAccount(
  tx: Queryable,
  account: { email: string; passwordHash: string; registeredIn: string },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(accounts).values({ id, ...account })
  return id
}

/** A user, who is a subject too: the phone in its pocket has positions. */
export async function insertUser(
  tx: Queryable,
  user: { organizationId: string; accountId: string; roleId: string; name: string },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(subjects).values({ id, organizationId: user.organizationId, type: 'user' })
  await tx.orm.insert(users).values({ id, ...user })
  return id
}

/** A user of the organization, as the interface shows it, or null. */
export async function findUser(tx: Queryable, id: string) {
  const [row] = await tx.orm
    .select({
      _id: users.id,
      name: users.name,
      email: accounts.email,
      status: users.status,
      role: { _id: roles.id, name: roles.name },
      organizationId: users.organizationId,
      lastActiveAt: users.lastActiveAt,
      createdAt: users.createdAt,
      updatedAt: users.updatedAt,
    })
    .from(users)
    .innerJoin(accounts, eq(accounts.id, users.accountId))
    .innerJoin(roles, eq(roles.id, users.roleId))
    .where(eq(users.id, id))
  return row ?? null
}
