import { learnRoots } from '../../fair/roots.ts'
import { newId, notify, type Queryable } from '../client.ts'
import type { VisibleHubs } from '../hub-rule.ts'
import type { PermissionDetail } from '../schema/roles.ts'
import { addGrants, ROLE_VERSION } from './granted.ts'
import { deleteSome } from './prune.ts'
import { ROOT } from './root.ts'

/** The user of an active session, with its permissions. */
export interface Caller {
  sessionId: string
  expiresAt: number
  /** The number of the session's renewals: a token of an earlier renewal has ended. */
  renewals: number
  userId: string
  accountId: string
  organizationId: string
  /** The root of the organization (fair/roots.ts). */
  root: string
  /** `subjects.key` of the user, who has positions as well. */
  subject: number
  roleId: string
  roleName: string
  /** Whether it holds the default role Owner: a role's name alone proves nothing. */
  isOwner: boolean
  /** The permissions of its role. */
  permissionDetails: readonly PermissionDetail[]
  /** The hubs it may work in; all for Owner and Admin. */
  hubIds: VisibleHubs
  /** The teams it is a member or leader of. */
  teamIds: string[]
}

/** Default roles that see every hub (contract section 4). */
const SEES_ALL_HUBS = `r.is_default AND r.name IN ('Owner', 'Admin')`

const STANDING = `r.id AS "roleId", r.name AS "roleName", r.is_default AND r.name = 'Owner' AS "isOwner",
    ${ROLE_VERSION} AS "roleVersion",
    CASE WHEN ${SEES_ALL_HUBS} THEN NULL ELSE
      (SELECT coalesce(json_agg(h.hub_id ORDER BY h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = u.id)
    END AS "hubIds",
    (SELECT coalesce(json_agg(t.team_id ORDER BY t.team_id), '[]') FROM team_users t WHERE t.user_id = u.id)
      AS "teamIds"`

const CALLERS = `SELECT s.id AS "sessionId", (extract(epoch FROM s.expires_at) * 1000)::float8 AS "expiresAt", s.renewals,
    u.id AS "userId", u.account_id AS "accountId", u.organization_id AS "organizationId", ${ROOT} AS root,
    x.key AS subject, ${STANDING}
  FROM sessions s JOIN users u ON u.id = s.user_id JOIN roles r ON r.id = u.role_id JOIN subjects x ON x.id = u.id
    JOIN organizations o ON o.id = u.organization_id
  WHERE s.expires_at > now() AND u.status = 'active' AND`

/** A user's permissions, independent of its sessions. */
export type Standing = Pick<
  Caller,
  'roleId' | 'roleName' | 'isOwner' | 'permissionDetails' | 'hubIds' | 'teamIds'
>

/** Such a row as it is read. */
type Read<Row extends Standing> = Omit<Row, 'permissionDetails'> & { roleVersion: string }

/** An active user's present permissions; null if the user is not active. */
export async function findStanding(tx: Queryable, userId: string): Promise<Standing | null> {
  return (await listStandings(tx, [userId])).get(userId) ?? null
}

/** The present permissions of the active ones among these users, by user. */
export async function listStandings(
  tx: Queryable,
  userIds: readonly string[],
): Promise<Map<string, Standing>> {
  const rows = await tx.query<Read<Standing & { userId: string }>>(
    `SELECT u.id AS "userId", ${STANDING} FROM users u JOIN roles r ON r.id = u.role_id
     WHERE u.id = ANY($1::uuid[]) AND u.status = 'active'`,
    [userIds],
  )
  return new Map((await addGrants(tx, rows)).map(({ userId, ...standing }) => [userId, standing]))
}

/** The callers of the active ones among these sessions, by session. */
export async function findCallers(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<Map<string, Caller>> {
  const rows = await db.query<Read<Caller>>(`${CALLERS} s.id = ANY($1::uuid[])`, [sessionIds])
  learnRoots(rows)
  return new Map((await addGrants(db, rows)).map(row => [row.sessionId, row]))
}

/** The origin of a session, so that its owner recognizes it. */
export interface Origin {
  userAgent: string | null
  address: string | null
}

/**
 * Opens a session for a user with an active membership, and stores that the user was here. Returns its identifier, or
 * null if the membership has ended meanwhile: the row is locked, so a simultaneous suspension comes first or ends this
 * session too.
 */
export async function insertSession(
  tx: Queryable,
  userId: string,
  lifetimeS: number,
  origin: Origin,
): Promise<string | null> {
  const id = newId()
  const opened = await tx.query(
    `WITH member AS (
       UPDATE users u SET last_active_at = greatest(now(), (
         -- After all earlier activity of the account: the activity of requests is stored with the time of writing it.
         SELECT max(v.last_active_at) + interval '1 microsecond' FROM users v WHERE v.account_id = u.account_id))
       FROM organizations o
       WHERE u.id = $2 AND u.status = 'active' AND o.id = u.organization_id AND o.deleted_at IS NULL
       RETURNING u.id
     )
     INSERT INTO sessions (id, user_id, expires_at, user_agent, address)
     SELECT $1, id, now() + make_interval(secs => $3), $4, $5 FROM member RETURNING id`,
    [id, userId, lifetimeS, origin.userAgent, origin.address],
  )
  return opened.length > 0 ? id : null
}

/**
 * Renews a session for another lifetime, which ends at most `longestS` after it was opened. Returns the number of its
 * renewals and its remaining seconds, or null if it may not be renewed: it must be in the last `lastS` of its lifetime,
 * have been renewed `renewals` times, and not have reached the maximum yet.
 */
export async function renewSession(
  tx: Queryable,
  sessionId: string,
  renewals: number,
  { lifetimeS, lastS, longestS }: { lifetimeS: number; lastS: number; longestS: number },
): Promise<{ renewals: number; remainingS: number } | null> {
  const [renewed] = await tx.query<{ renewals: number; remainingS: number }>(
    `UPDATE sessions SET renewals = renewals + 1,
       expires_at = least(now() + make_interval(secs => $3), created_at + make_interval(secs => $5))
     WHERE id = $1 AND renewals = $2 AND expires_at > now() AND expires_at <= now() + make_interval(secs => $4)
       AND expires_at < created_at + make_interval(secs => $5)
     RETURNING renewals, floor(extract(epoch FROM expires_at - now()))::int AS "remainingS"`,
    [sessionId, renewals, lifetimeS, lastS, longestS],
  )
  return renewed ?? null
}

/** Ends a session everywhere. Returns whether it was active: if two requests end it at once, only one gets true. */
export async function deleteSession(tx: Queryable, sessionId: string): Promise<boolean> {
  const deleted = await tx.query<{ alive: boolean }>(
    'DELETE FROM sessions WHERE id = $1 RETURNING expires_at > now() AS alive',
    [sessionId],
  )
  if (deleted.length > 0) await notify(tx, { kind: 'session', sessionId })
  return deleted[0]?.alive ?? false
}

/** Ends the sessions of an account in every organization, all or all but one. */
export async function deleteSessionsOf(
  tx: Queryable,
  accountId: string,
  except: string | null = null,
): Promise<void> {
  const ended = await tx.query<{ id: string }>(
    `DELETE FROM sessions s USING users u
     WHERE u.id = s.user_id AND u.account_id = $1 AND ($2::uuid IS NULL OR s.id <> $2) RETURNING s.id`,
    [accountId, except],
  )
  for (const { id } of ended) await notify(tx, { kind: 'session', sessionId: id })
}

/** A session as its owner sees it. */
export interface SessionRow {
  _id: string
  organizationId: string
  organizationName: string
  userAgent: string | null
  address: string | null
  createdAt: Date
  expiresAt: Date
}

/** The active sessions of an account in every organization, newest first. */
export async function listSessions(db: Queryable, accountId: string): Promise<SessionRow[]> {
  return db.query(
    `SELECT s.id AS "_id", o.id AS "organizationId", o.name AS "organizationName", s.user_agent AS "userAgent",
       s.address, s.created_at AS "createdAt", s.expires_at AS "expiresAt"
     FROM sessions s JOIN users u ON u.id = s.user_id JOIN organizations o ON o.id = u.organization_id
     WHERE u.account_id = $1 AND s.expires_at > now() AND u.status = 'active' ORDER BY s.created_at DESC, s.id DESC`,
    [accountId],
  )
}

/** Deletes sessions that expired over a day ago. */
export const pruneSessions = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'sessions', `expires_at < now() - interval '1 day'`)
