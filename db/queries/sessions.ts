import { learnRoots } from '../../fair/roots.ts'
import { acrossOrganizations, newId, notify, type Queryable } from '../client.ts'
import type { VisibleHubs } from '../hub-rule.ts'
import type { PermissionDetail } from '../schema/roles.ts'
import { addGrants, ROLE_VERSION } from './granted.ts'
import { deleteSome } from './prune.ts'
import { ROOT } from './root.ts'

/** The user of an active session, or the API key whose secret the session is, with its permissions. */
export interface Caller {
  sessionId: string
  /** The API key that calls; null for a user. */
  apiKey: { _id: string; name: string } | null
  expiresAt: number
  /** The number of the session's renewals: a token of an earlier renewal has ended. */
  renewals: number
  /** The member: a user, or an API key. */
  userId: string
  /** The account of a user, and the identifier of an API key, which counts as an account of its own. */
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
  /** Whether single sign-on has opened the session. */
  isByProvider: boolean
  /** Whether the organization demands a second factor, and the user has none: everything but setting it up is closed. */
  lacksSecondFactor: boolean
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

/** Where single sign-on has opened the session, the provider asks for factors. An API key has none. */
const LACKS_SECOND_FACTOR = `o.settings @> '{"requireSecondFactor": true}' AND s.key_digest IS NULL AND NOT s.by_provider
    AND NOT EXISTS (SELECT FROM second_factors f WHERE f.account_id = u.account_id AND f.confirmed_at IS NOT NULL)`

const callersWith = (
  columns: string,
) => `SELECT s.id AS "sessionId", (extract(epoch FROM s.expires_at) * 1000)::float8 AS "expiresAt", s.renewals,
    CASE WHEN s.key_digest IS NOT NULL THEN json_build_object('_id', u.id, 'name', u.name) END AS "apiKey",
    u.id AS "userId", coalesce(u.account_id, u.id) AS "accountId", u.organization_id AS "organizationId", ${ROOT} AS root,
    x.key AS subject, s.by_provider AS "isByProvider", ${LACKS_SECOND_FACTOR} AS "lacksSecondFactor",
    ${STANDING}${columns}
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

/** An active user's present permissions, or those of an API key; null if the user is not active or the key has expired. */
export async function findStanding(tx: Queryable, userId: string): Promise<Standing | null> {
  return (await listStandings(tx, [userId])).get(userId) ?? null
}

/** The present permissions of the active ones among these users, and of the keys that have not expired, by member. */
export async function listStandings(
  tx: Queryable,
  userIds: readonly string[],
): Promise<Map<string, Standing>> {
  const rows = await tx.query<Read<Standing & { userId: string }>>(
    `SELECT u.id AS "userId", ${STANDING} FROM users u JOIN roles r ON r.id = u.role_id
     WHERE u.id = ANY($1::uuid[]) AND u.status = 'active'
       AND NOT EXISTS (SELECT FROM api_keys k WHERE k.id = u.id AND k.expires_at <= now())`,
    [userIds],
  )
  return new Map((await addGrants(tx, rows)).map(({ userId, ...standing }) => [userId, standing]))
}

/** When a session expires, in milliseconds since 1970; null if it has expired or been ended. */
export const findSessionEnd = (tx: Queryable, sessionId: string): Promise<number | null> =>
  acrossOrganizations(tx, async () => {
    const [row] = await tx.query<{ expiresAt: number }>(
      `SELECT (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAt" FROM sessions
       WHERE id = $1 AND expires_at > clock_timestamp()`,
      [sessionId],
    )
    return row?.expiresAt ?? null
  })

/** The callers of the active ones among these sessions, by session. */
export async function findCallers(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<Map<string, Caller>> {
  const rows = await db.query<Read<Caller>>(`${callersWith('')} s.id = ANY($1::uuid[])`, [sessionIds])
  learnRoots(rows)
  return new Map((await addGrants(db, rows)).map(row => [row.sessionId, row]))
}

/** The callers of the valid ones among these API keys, by the SHA-256 of the key in hexadecimal. */
export async function findCallersByKey(
  db: Queryable,
  digests: readonly string[],
): Promise<Map<string, Caller>> {
  const rows = await db.query<Read<Caller & { digest: string }>>(
    `${callersWith(`, encode(s.key_digest, 'hex') AS digest`)}
       s.key_digest = ANY(ARRAY(SELECT decode(digest, 'hex') FROM unnest($1::text[]) AS digest))`,
    [digests],
  )
  learnRoots(rows)
  return new Map((await addGrants(db, rows)).map(({ digest, ...caller }) => [digest, caller]))
}

/** After all earlier activity of the account: the activity of requests is stored with the time of writing it. */
const LATEST = `greatest(now(), (
    SELECT max(v.last_active_at) + interval '1 microsecond' FROM users v WHERE v.account_id = u.account_id))`

/** The origin of a session, so that its owner recognizes it. */
export interface Origin {
  userAgent: string | null
  address: string | null
  /** Whether single sign-on opens it. */
  isByProvider: boolean
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
       UPDATE users u SET last_active_at = ${LATEST}
       FROM organizations o
       WHERE u.id = $2 AND u.status = 'active' AND o.id = u.organization_id AND o.deleted_at IS NULL
       RETURNING u.id
     )
     INSERT INTO sessions (id, user_id, expires_at, user_agent, address, by_provider)
     SELECT $1, id, now() + make_interval(secs => $3), $4, $5, $6 FROM member RETURNING id`,
    [id, userId, lifetimeS, origin.userAgent, origin.address, origin.isByProvider],
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

/** A session that was opened beside another one, or found there. */
export interface SessionBeside {
  sessionId: string
  renewals: number
  remainingS: number
}

/**
 * Opens a session of the same sign-in for another membership of the account, or finds the one that was opened before: a sign-in
 * has at most one per membership. It ends at most `longestS` after the sign-in. Null if the caller's session has ended meanwhile:
 * its row is locked, so an end that comes at the same time comes first or ends this session too.
 */
export async function openSessionBeside(
  tx: Queryable,
  callerSessionId: string,
  userId: string,
  { lifetimeS, longestS }: { lifetimeS: number; longestS: number },
  origin: Origin,
): Promise<SessionBeside | null> {
  const [caller] = await tx.query<SignIn>(
    `SELECT coalesce(sign_in_id, id) AS "signInId", created_at AS "createdAt" FROM sessions
     WHERE id = $1 AND expires_at > now() FOR SHARE`,
    [callerSessionId],
  )
  if (!caller) return null
  return joinSignIn(tx, caller, userId, { lifetimeS, longestS }, origin)
}

/**
 * Ends a session and goes on with the same sign-in in another membership of the account, which is then the one used last; where the
 * sign-in has a session there, in that one. Null if the session, or the membership, has ended meanwhile. The rows of the sign-in
 * are locked in the order in which `endSignIn` locks them.
 */
export async function moveSession(
  tx: Queryable,
  sessionId: string,
  userId: string,
  lifetime: { lifetimeS: number; longestS: number },
  origin: Origin,
): Promise<SessionBeside | null> {
  await tx.query(
    `SELECT FROM sessions s JOIN sessions own ON own.id = $1 AND coalesce(own.sign_in_id, own.id) IN (s.id, s.sign_in_id)
     ORDER BY s.id FOR UPDATE OF s`,
    [sessionId],
  )
  const [ended] = await tx.query<SignIn & { alive: boolean }>(
    `DELETE FROM sessions WHERE id = $1
     RETURNING coalesce(sign_in_id, id) AS "signInId", created_at AS "createdAt", expires_at > now() AS alive`,
    [sessionId],
  )
  if (!ended?.alive) return null
  await notify(tx, { kind: 'session', sessionId })
  await tx.query(`UPDATE users u SET last_active_at = ${LATEST} WHERE id = $1`, [userId])
  return joinSignIn(tx, ended, userId, lifetime, origin)
}

/** The sessions that were opened from one sign-in. */
interface SignIn {
  signInId: string
  createdAt: Date
}

async function joinSignIn(
  tx: Queryable,
  { signInId, createdAt }: SignIn,
  userId: string,
  { lifetimeS, longestS }: { lifetimeS: number; longestS: number },
  origin: Origin,
): Promise<SessionBeside | null> {
  const found = await findSessionOf(tx, signInId, userId)
  if (found) return found
  await tx.query('DELETE FROM sessions WHERE sign_in_id = $1 AND user_id = $2 AND expires_at <= now()', [
    signInId,
    userId,
  ])
  // Where two open it at the same time, the second one waits here and takes the session of the first.
  await tx.query(
    `INSERT INTO sessions (id, user_id, sign_in_id, created_at, expires_at, user_agent, address, by_provider)
     SELECT $1, u.id, $3, $4, least(now() + make_interval(secs => $5), $4::timestamptz + make_interval(secs => $6)), $7, $8, $9
     FROM users u JOIN organizations o ON o.id = u.organization_id
     WHERE u.id = $2 AND u.status = 'active' AND o.deleted_at IS NULL FOR SHARE OF u
     ON CONFLICT (sign_in_id, user_id) WHERE sign_in_id IS NOT NULL DO NOTHING`,
    [
      ...[newId(), userId, signInId, createdAt, lifetimeS, longestS],
      ...[origin.userAgent, origin.address, origin.isByProvider],
    ],
  )
  return findSessionOf(tx, signInId, userId)
}

async function findSessionOf(tx: Queryable, signInId: string, userId: string): Promise<SessionBeside | null> {
  const [found] = await tx.query<SessionBeside>(
    `SELECT id AS "sessionId", renewals, floor(extract(epoch FROM expires_at - now()))::int AS "remainingS" FROM sessions
     WHERE (id = $1 OR sign_in_id = $1) AND user_id = $2 AND expires_at > now() + interval '1 second'
     ORDER BY expires_at DESC LIMIT 1`,
    [signInId, userId],
  )
  return found ?? null
}

/**
 * Ends a session and those of the same sign-in in other organizations. Returns whether it was active. The rows are locked first:
 * a session that is opened beside one of them at the same time is there for the second statement.
 */
export async function endSignIn(tx: Queryable, sessionId: string): Promise<boolean> {
  const ofSignIn = `(SELECT coalesce(sign_in_id, id) FROM sessions WHERE id = $1)`
  const [known] = await tx.query<{ signInId: string }>(`SELECT ${ofSignIn} AS "signInId"`, [sessionId])
  if (!known?.signInId) return false
  const which = 'WHERE id = $1 OR sign_in_id = $1'
  await tx.query(`SELECT FROM sessions ${which} ORDER BY id FOR UPDATE`, [known.signInId])
  const ended = await tx.query<{ id: string; alive: boolean }>(
    `DELETE FROM sessions ${which} RETURNING id, expires_at > now() AS alive`,
    [known.signInId],
  )
  for (const { id } of ended) await notify(tx, { kind: 'session', sessionId: id })
  return ended.some(({ id, alive }) => id === sessionId && alive)
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

/**
 * Ends the sessions of an account that a password alone has opened, but not those of the caller's sign-in: once the account has a
 * second factor, nobody stays in who has not shown it.
 */
export async function deleteOtherSignIns(
  tx: Queryable,
  accountId: string,
  callerSessionId: string,
): Promise<void> {
  const ended = await tx.query<{ id: string }>(
    `DELETE FROM sessions s USING users u
     WHERE u.id = s.user_id AND u.account_id = $1 AND NOT s.by_provider AND coalesce(s.sign_in_id, s.id)
       IS DISTINCT FROM (SELECT coalesce(sign_in_id, id) FROM sessions WHERE id = $2) RETURNING s.id`,
    [accountId, callerSessionId],
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
