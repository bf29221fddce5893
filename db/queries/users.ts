import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { foldEmail } from '../email-address.ts'
import type { VisibleHubs } from '../hub-rule.ts'
import { subjects, userHubs, users } from '../schema/users.ts'
import type { MailState } from './invitations.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'

const HIDDEN = ['accountId', 'roleId', 'joinedAt'] as const

/** A user as the interface shows it. */
export interface User extends Shown<typeof users, (typeof HIDDEN)[number]> {
  organizationId: string
  email: string
  role: { _id: string; name: string }
  hubId: string[]
  /** The open invitation of a user who has not joined yet. */
  invitation: { expiresAt: string; mail: MailState | null } | null
}
export type UserStatus = User['status']

const COLUMNS = `${shownColumns(users, 'u', HIDDEN)}, u.organization_id AS "organizationId", a.email,
  json_build_object('_id', r.id, 'name', r.name) AS role,
  (SELECT coalesce(json_agg(h.hub_id ORDER BY h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = u.id) AS "hubId",
  (SELECT json_build_object('expiresAt', to_char(i.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'mail', i.mail)
   FROM invitations i WHERE i.user_id = u.id) AS invitation`
const FROM = 'users u JOIN user_accounts a ON a.user_id = u.id JOIN roles r ON r.id = u.role_id'

export const USER_SORTS = {
  name: { sql: 'lower(u.name)', type: 'text' },
  email: { sql: 'lower(a.email)', type: 'text' },
  createdAt: { sql: 'u.created_at', type: 'timestamptz' },
  lastActiveAt: { sql: `coalesce(u.last_active_at, '-infinity')`, type: 'timestamptz' },
} as const

/**
 * The users that a caller sees: itself, and the others who work in one of its hubs or in none at all, within the scope of
 * its permission: all, those of its teams, or nobody else.
 */
export interface UserVisibility {
  userId: string
  hubIds: VisibleHubs
  teamIds: readonly string[]
  scope: 'all' | 'team' | 'own'
}

const IS_VISIBLE = `(u.id = $1 OR (
  ($2::uuid[] IS NULL OR NOT EXISTS (SELECT FROM user_hubs v WHERE v.user_id = u.id)
    OR EXISTS (SELECT FROM user_hubs v WHERE v.user_id = u.id AND v.hub_id = ANY($2)))
  AND ($3 = 'all' OR ($3 = 'team'
    AND EXISTS (SELECT FROM team_users v WHERE v.user_id = u.id AND v.team_id = ANY($4::uuid[]))))))`
/** An API key is a member without an account. */
const IS_PERSON = 'u.account_id IS NOT NULL'
const visibilityValues = ({ userId, hubIds, teamIds, scope }: UserVisibility) => [
  userId,
  hubIds,
  scope,
  teamIds,
]

export function listUsers(
  tx: Queryable,
  visibility: UserVisibility,
  filter: { status?: UserStatus; roleIds?: readonly string[]; hubIds?: readonly string[] },
  page: PageRequest,
): Promise<Page<User>> {
  const { where, values, add } = conditions()
  values.push(...visibilityValues(visibility))
  where.push(IS_VISIBLE)
  if (filter.status) add('u.status = ?', filter.status)
  if (filter.roleIds) add('u.role_id = ANY(?::uuid[])', filter.roleIds)
  if (filter.hubIds) {
    add(
      'EXISTS (SELECT FROM user_hubs w WHERE w.user_id = u.id AND w.hub_id = ANY(?::uuid[]))',
      filter.hubIds,
    )
  }
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: FROM,
      where,
      values,
      // An identifier of a hub, with its JSON around it.
      bytes: '500 + 40 * (SELECT count(*) FROM user_hubs h WHERE h.user_id = u.id)',
      id: 'u.id',
      sorts: USER_SORTS,
      search: ['u.name', 'a.email'],
    },
    page,
  )
}

export const ASSIGNEE_SORTS = { name: USER_SORTS.name } as const

/** A user as whoever plans work knows it: without an address, which a search would tell as well. */
export type Assignee = Pick<User, '_id' | 'name' | 'status'>

/** The users that a caller sees on tasks. */
export function listAssignees(
  tx: Queryable,
  visibility: UserVisibility,
  page: PageRequest,
): Promise<Page<Assignee>> {
  return readPage(
    tx,
    {
      columns: 'u.id AS "_id", u.name, u.status',
      from: 'users u',
      where: [IS_PERSON, IS_VISIBLE],
      values: visibilityValues(visibility),
      bytes: '300',
      id: 'u.id',
      sorts: ASSIGNEE_SORTS,
      search: ['u.name'],
    },
    page,
  )
}

/** A user of the organization, whoever asks, or null. */
export async function findUser(tx: Queryable, id: string): Promise<User | null> {
  const [row] = await tx.query<User>(`SELECT ${COLUMNS} FROM ${FROM} WHERE u.id = $1`, [id])
  return row ?? null
}

/** A user whom the caller sees, by identifier or by address in any spelling, or null. */
export async function findVisibleUser(
  tx: Queryable,
  visibility: UserVisibility,
  by: { id: string } | { email: string },
): Promise<User | null> {
  const [condition, value] = 'id' in by ? ['u.id = $5', by.id] : ['a.folded_email = $5', foldEmail(by.email)]
  const [row] = await tx.query<User>(`SELECT ${COLUMNS} FROM ${FROM} WHERE ${IS_VISIBLE} AND ${condition}`, [
    ...visibilityValues(visibility),
    value,
  ])
  return row ?? null
}

/** Whether the user's account first registered in this organization (specification 5.4). */
export async function isRegisteredHere(tx: Queryable, userId: string): Promise<boolean> {
  const [row] = await tx.query<{ here: boolean }>(
    'SELECT registered_here AS here FROM user_accounts WHERE user_id = $1',
    [userId],
  )
  return row?.here ?? false
}

/** Creates a user, who is a subject too: the user's phone has positions. */
export async function insertUser(
  tx: Queryable,
  user: {
    organizationId: string
    accountId: string
    roleId: string
    name: string
    status: 'active' | 'invited'
    isSample?: boolean
  },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(subjects).values({ id, organizationId: user.organizationId, type: 'user' })
  await tx.orm.insert(users).values({ id, ...user, joinedAt: user.status === 'active' ? sql`now()` : null })
  return id
}

export async function updateUser(
  tx: Queryable,
  id: string,
  change: { name?: string; roleId?: string; status?: UserStatus },
): Promise<void> {
  await tx.orm
    .update(users)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(users.id, id))
}

/** Replaces the hubs that a user may work in. */
export async function setUserHubs(
  tx: Queryable,
  organizationId: string,
  userId: string,
  hubIds: readonly string[],
): Promise<void> {
  await tx.orm.delete(userHubs).where(eq(userHubs.userId, userId))
  if (hubIds.length === 0) return
  const rows = [...new Set(hubIds)].sort().map(hubId => ({ organizationId, userId, hubId }))
  await tx.orm.insert(userHubs).values(rows)
}

/** Deletes the membership. The subject stays, and with it the history. */
export async function deleteUser(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(users).where(eq(users.id, id))
}

/**
 * Blocks every other change of owners until this transaction ends, so that the last two owners are not demoted at once.
 * First in its transaction: changes of memberships take the same row (0050).
 */
export async function lockMemberships(tx: Queryable, organizationId: string): Promise<void> {
  await tx.query('SELECT FROM organizations WHERE id = $1 FOR NO KEY UPDATE', [organizationId])
}

/** The number of active users with the default role Owner, without this one. An API key is not one of them. */
export async function countOtherOwners(tx: Queryable, userId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM users u JOIN roles r ON r.id = u.role_id
     WHERE u.status = 'active' AND ${IS_PERSON} AND r.is_default AND r.name = 'Owner' AND u.id <> $1`,
    [userId],
  )
  return row?.count ?? 0
}

/** The name of a user; across organizations too. */
export async function findUserName(tx: Queryable, id: string): Promise<string> {
  const [row] = await tx.query<{ name: string }>('SELECT name FROM users WHERE id = $1', [id])
  return row?.name ?? ''
}

/** The account of a user of the organization. */
export async function findAccountId(tx: Queryable, id: string): Promise<string> {
  const [row] = await tx.query<{ accountId: string }>(
    'SELECT account_id AS "accountId" FROM users WHERE id = $1',
    [id],
  )
  if (!row) throw new Error('The user is not there')
  return row.accountId
}

/** The users among these identifiers whom the caller sees. */
export async function listKnownUsers(
  tx: Queryable,
  visibility: UserVisibility,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `SELECT u.id FROM users u WHERE ${IS_PERSON} AND ${IS_VISIBLE} AND u.id = ANY($5::uuid[])`,
    [...visibilityValues(visibility), ids],
  )
  return new Set(rows.map(row => row.id))
}
