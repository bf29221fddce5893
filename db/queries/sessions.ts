import { eq } from 'drizzle-orm'
import { newId, notify, type Queryable } from '../client.ts'
import type { PermissionDetail } from '../schema/roles.ts'
import { sessions } from '../schema/users.ts'

/** The user behind a living session, with what it may do. */
export interface Caller {
  sessionId: string
  expiresAt: number
  userId: string
  accountId: string
  organizationId: string
  /** `subjects.key` of the user, who has positions as well. */
  subject: number
  roleId: string
  roleName: string
  permissionDetails: PermissionDetail[]
}

/** The caller of a session that exists, has not expired and belongs to an active user, or null. */
export async function findCaller(
  db: Queryable,
  claims: { sessionId: string; userId: string; organizationId: string },
): Promise<Caller | null> {
  const [row] = await db.query<Caller>(
    `SELECT s.id AS "sessionId", (extract(epoch FROM s.expires_at) * 1000)::float8 AS "expiresAt",
       u.id AS "userId", u.account_id AS "accountId", u.organization_id AS "organizationId", x.key AS subject,
       r.id AS "roleId", r.name AS "roleName", r.permission_details AS "permissionDetails"
     FROM sessions s JOIN users u ON u.id = s.user_id JOIN roles r ON r.id = u.role_id JOIN subjects x ON x.id = u.id
     WHERE s.id = $1 AND u.id = $2 AND u.organization_id = $3 AND s.expires_at > now() AND u.status = 'active'`,
    [claims.sessionId, claims.userId, claims.organizationId],
  )
  return row ?? null
}

/** Opens a session and remembers that the user was here. Returns its identifier. */
export async function insertSession(tx: Queryable, userId: string, lifetimeS: number): Promise<string> {
  const id = newId()
  await tx.query(
    `INSERT INTO sessions (id, user_id, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))`,
    [id, userId, lifetimeS],
  )
  await tx.query('UPDATE users SET last_active_at = now() WHERE id = $1', [userId])
  return id
}

/** Ends a session everywhere. Returns whether it was alive. */
export async function deleteSession(tx: Queryable, sessionId: string): Promise<boolean> {
  const deleted = await tx.orm
    .delete(sessions)
    .where(eq(sessions.id, sessionId))
    .returning({ id: sessions.id })
  if (deleted.length > 0) await notify(tx, { kind: 'session', sessionId })
  return deleted.length > 0
}

/** Of these sessions, those that are alive. */
export async function listLivingSessions(db: Queryable, sessionIds: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE s.id = ANY($1::uuid[]) AND s.expires_at > now() AND u.status = 'active'`,
    [sessionIds],
  )
  return new Set(rows.map(row => row.id))
}

/** Removes sessions that expired over a day ago. */
export async function pruneSessions(db: Queryable): Promise<void> {
  await db.query(`DELETE FROM sessions WHERE expires_at < now() - interval '1 day'`)
}
