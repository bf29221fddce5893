import { eq, sql } from 'drizzle-orm'
import { acrossOrganizations, newId, notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import type { VisibleHubs } from '../hub-rule.ts'
import { apiKeys } from '../schema/api-keys.ts'
import { sessions, subjects, users } from '../schema/users.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'
import { deleteUser, setUserHubs, updateUser } from './users.ts'

/** An API key as the interface shows it. */
export type ApiKey = Omit<Shown<typeof apiKeys, 'rotatedAt'>, 'createdBy'> & {
  name: string
  role: { _id: string; name: string }
  hubId: string[]
  /** Null once that user or key is deleted. */
  createdBy: { _id: string; name: string } | null
}

const COLUMNS = `${shownColumns(apiKeys, 'k', ['createdBy', 'formerExpiresAt', 'rotatedAt'])}, u.name,
  CASE WHEN k.former_expires_at > now() THEN k.former_expires_at END AS "formerExpiresAt",
  json_build_object('_id', r.id, 'name', r.name) AS role,
  (SELECT coalesce(json_agg(h.hub_id ORDER BY h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = k.id) AS "hubId",
  CASE WHEN m.id IS NULL THEN NULL ELSE json_build_object('_id', m.id, 'name', m.name) END AS "createdBy"`
const FROM =
  'api_keys k JOIN users u ON u.id = k.id JOIN roles r ON r.id = u.role_id LEFT JOIN users m ON m.id = k.created_by'

export const API_KEY_SORTS = {
  name: { sql: 'lower(u.name)', type: 'text' },
  createdAt: { sql: 'k.created_at', type: 'timestamptz' },
  lastUsedAt: { sql: `coalesce(k.last_used_at, '-infinity')`, type: 'timestamptz' },
} as const

/** Keys that work in one of these hubs, or in none at all. */
const IS_VISIBLE = (hubs: string) => `(${hubs}::uuid[] IS NULL
  OR NOT EXISTS (SELECT FROM user_hubs v WHERE v.user_id = k.id)
  OR EXISTS (SELECT FROM user_hubs v WHERE v.user_id = k.id AND v.hub_id = ANY(${hubs})))`

export function listApiKeys(
  tx: Queryable,
  { hubIds, createdBy }: { hubIds: VisibleHubs; createdBy: readonly string[] | undefined },
  page: PageRequest,
): Promise<Page<ApiKey>> {
  const { where, values, placeholder } = conditions()
  where.push(IS_VISIBLE(placeholder(hubIds)))
  if (createdBy) where.push(`k.created_by = ANY(${placeholder(createdBy)}::uuid[])`)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: FROM,
      where,
      values,
      // An identifier of a hub, with its JSON around it.
      bytes: '700 + 40 * (SELECT count(*) FROM user_hubs h WHERE h.user_id = k.id)',
      id: 'k.id',
      sorts: API_KEY_SORTS,
      search: ['u.name', 'k.prefix'],
    },
    page,
  )
}

/** A visible API key of the organization, or null. */
export async function findApiKey(
  tx: Queryable,
  id: string,
  visible: VisibleHubs = null,
): Promise<ApiKey | null> {
  const [row] = await tx.query<ApiKey>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE k.id = $1 AND ${IS_VISIBLE('$2')}`,
    [id, visible],
  )
  return row ?? null
}

/** A secret: its digest, and the beginning that is shown. */
export interface Secret {
  hash: Buffer
  prefix: string
}

const NEWEST_SECRET =
  'SELECT n.id FROM sessions n WHERE n.user_id = $1 ORDER BY n.created_at DESC, n.id DESC LIMIT 1'

/** Creates a key: a member without an account, whose session is its secret. */
export async function insertApiKey(
  tx: Queryable,
  key: {
    organizationId: string
    name: string
    roleId: string
    hubIds: readonly string[]
    expiresAt: Date | null
    createdBy: string
  },
  secret: Secret,
): Promise<string> {
  const { organizationId, name, roleId, hubIds, expiresAt, createdBy } = key
  const id = newId()
  await tx.orm.insert(subjects).values({ id, organizationId, type: 'user' })
  await tx.orm.insert(users).values({ id, organizationId, roleId, name, joinedAt: sql`now()` })
  await tx.orm.insert(apiKeys).values({ id, organizationId, prefix: secret.prefix, expiresAt, createdBy })
  await setUserHubs(tx, organizationId, id, hubIds)
  await insertSecret(tx, id, secret, expiresAt)
  return id
}

async function insertSecret(
  tx: Queryable,
  keyId: string,
  { hash }: Secret,
  expiresAt: Date | null,
): Promise<void> {
  const session = { id: newId(), userId: keyId, keyDigest: hash }
  await acrossOrganizations(tx, () =>
    tx.orm.insert(sessions).values({ ...session, expiresAt: expiresAt ?? sql`'infinity'` }),
  )
}

/** Changes a key; its role and hubs hold at once, on open connections too. */
export async function updateApiKey(
  tx: Queryable,
  organizationId: string,
  id: string,
  change: { name?: string; roleId?: string; hubIds?: readonly string[]; expiresAt?: Date | null },
): Promise<void> {
  const { hubIds, expiresAt, ...member } = change
  if (member.name !== undefined || member.roleId !== undefined) await updateUser(tx, id, member)
  if (hubIds) await setUserHubs(tx, organizationId, id, hubIds)
  await tx.orm
    .update(apiKeys)
    .set({
      ...(expiresAt !== undefined && { expiresAt }),
      ...(expiresAt && {
        formerExpiresAt: sql`CASE WHEN former_expires_at IS NOT NULL
          THEN least(former_expires_at, ${expiresAt.toISOString()}::timestamptz) END`,
      }),
      updatedAt: sql`now()`,
    })
    .where(eq(apiKeys.id, id))
  if (expiresAt === undefined) return
  // The secret from before a rotation never lives longer than it was given then.
  await acrossOrganizations(tx, () =>
    tx.query(
      `UPDATE sessions s SET expires_at = CASE WHEN s.id = (${NEWEST_SECRET}) THEN coalesce($2, 'infinity'::timestamptz)
         ELSE least(s.expires_at, $2) END
       WHERE s.user_id = $1`,
      [id, expiresAt],
    ),
  )
  await notify(tx, { kind: 'visibility', organizationId })
}

/**
 * Gives a key another secret; the present one is valid for the overlap, and an earlier one no longer. Returns false if
 * another rotation came after this one had been requested, `requestedMs` ago: of two at once one is carried out.
 */
export async function rotateApiKey(
  tx: Queryable,
  { _id, organizationId, expiresAt }: Pick<ApiKey, '_id' | 'expiresAt'> & { organizationId: string },
  secret: Secret,
  { overlapS, requestedMs }: { overlapS: number; requestedMs: number },
): Promise<boolean> {
  const rotated = await tx.query(
    `UPDATE api_keys SET prefix = $2, rotated_at = clock_timestamp(), updated_at = now(), former_expires_at =
         CASE WHEN $3::float8 > 0 THEN least(expires_at, now() + make_interval(secs => $3::float8)) END
     WHERE id = $1 AND (rotated_at IS NULL
       OR rotated_at < clock_timestamp() - make_interval(secs => $4::float8 / 1000))
     RETURNING id`,
    [_id, secret.prefix, overlapS, requestedMs],
  )
  if (rotated.length === 0) return false
  await acrossOrganizations(tx, async () => {
    const ended = await tx.query<{ id: string }>(
      `DELETE FROM sessions s WHERE user_id = $1 AND ($2::float8 <= 0 OR id <> (${NEWEST_SECRET}))
       RETURNING id`,
      [_id, overlapS],
    )
    for (const { id } of ended) await notify(tx, { kind: 'session', sessionId: id })
    await tx.query(
      'UPDATE sessions SET expires_at = least(expires_at, now() + make_interval(secs => $2::float8)) WHERE user_id = $1',
      [_id, overlapS],
    )
  })
  await insertSecret(tx, _id, secret, expiresAt)
  // Open connections learn when their secret ends.
  await notify(tx, { kind: 'visibility', organizationId })
  return true
}

/** Deletes a key, and ends what is open under it. */
export async function deleteApiKey(tx: Queryable, organizationId: string, id: string): Promise<void> {
  await deleteUser(tx, id)
  await notify(tx, { kind: 'user', userId: id, organizationId })
}
