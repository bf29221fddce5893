import type { FastifyRequest } from 'fastify'
import type { Queryable } from '../../../db/client.ts'
import { holdPassword, listMemberships, type Membership } from '../../../db/queries/accounts.ts'
import { rememberAddress } from '../../../db/queries/known-addresses.ts'
import { hasHub } from '../../../db/queries/organizations.ts'
import {
  insertSession,
  moveSession,
  type Origin,
  openSessionBeside,
  type SessionBeside,
} from '../../../db/queries/sessions.ts'
import { networkOf } from '../../../fair/network.ts'
import { TOKEN_LIFETIME_S, type Tokens } from '../../../ingest/identity/tokens.ts'
import { RequestError, sessionEnded } from '../../http/errors.ts'

/** A session lasts at most 30 days in all (contract section 3). */
export const LONGEST_SESSION_S = 30 * 86_400
const LIFETIME = { lifetimeS: TOKEN_LIFETIME_S, longestS: LONGEST_SESSION_S }
const MAX_USER_AGENT_LENGTH = 300

/** The failure of every password where single sign-on alone opens an account. */
export const passwordsClosed = (): RequestError =>
  new RequestError('single-sign-on-required', 'Passwords are closed here. Use single sign-on.')

/**
 * The client's program and address, for the list of sessions, and whether single sign-on lets it in. A session that goes
 * on in another organization stays what it was.
 */
export function originOf(request: FastifyRequest): Origin {
  return {
    isByProvider: request.caller?.isByProvider ?? false,
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
    address: request.ip,
  }
}

/** A session that was opened in a transaction; `answer` turns it into the body of specification 2.2. */
export interface Opened extends SessionBeside {
  user: { _id: string; name: string; email: string; organizationId: string; hubId: string[] }
  isHubSet: boolean
  memberships: Membership[]
}

/** Opens a session in an organization; null if the account is not an active member of it. */
export async function openSession(
  tx: Queryable,
  member: { accountId: string; organizationId: string },
  origin: Origin,
): Promise<Opened | null> {
  const { memberships, current } = await holdMembership(tx, member)
  const sessionId = current && (await insertSession(tx, current.userId, TOKEN_LIFETIME_S, origin))
  if (!sessionId) return null
  if (origin.address !== null) await rememberAddress(tx, member.accountId, networkOf(origin.address))
  return describeOpened(tx, { sessionId, renewals: 0, remainingS: TOKEN_LIFETIME_S }, current, memberships)
}

/**
 * Opens a session in another organization beside the caller's, which goes on; null if the account is not an active member of it, or
 * if the caller's session has ended meanwhile.
 */
export async function openBeside(
  tx: Queryable,
  caller: { accountId: string; sessionId: string },
  organizationId: string,
  origin: Origin,
): Promise<Opened | null> {
  const { memberships, current } = await holdMembership(tx, { accountId: caller.accountId, organizationId })
  const session = current && (await openSessionBeside(tx, caller.sessionId, current.userId, LIFETIME, origin))
  return session ? describeOpened(tx, session, current, memberships) : null
}

/**
 * Replaces the caller's session by one in another organization; null if the account is not an active member of it. The new session
 * ends at the latest 30 days after the sign-in, as the old one would have. Signing out of it ends the other sessions of that sign-in too.
 */
export async function moveTo(
  tx: Queryable,
  caller: { accountId: string; sessionId: string },
  organizationId: string,
  origin: Origin,
): Promise<Opened | null> {
  const { memberships, current } = await holdMembership(tx, { accountId: caller.accountId, organizationId })
  if (!current) return null
  const session = await moveSession(tx, caller.sessionId, current.userId, LIFETIME, origin)
  if (!session) throw sessionEnded()
  if (origin.address !== null) await rememberAddress(tx, caller.accountId, networkOf(origin.address))
  return describeOpened(tx, session, current, memberships)
}

/** The memberships of an account, whose password stays as it is until the transaction ends, and the one in an organization. */
async function holdMembership(
  tx: Queryable,
  { accountId, organizationId }: { accountId: string; organizationId: string },
) {
  await holdPassword(tx, accountId)
  const memberships = await listMemberships(tx, accountId)
  return { memberships, current: memberships.find(one => one.organizationId === organizationId) }
}

async function describeOpened(
  tx: Queryable,
  session: SessionBeside,
  current: Membership,
  memberships: Membership[],
): Promise<Opened> {
  const [user] = await tx.query<Opened['user']>(
    `SELECT u.id AS "_id", u.name, a.email, u.organization_id AS "organizationId",
       (SELECT coalesce(json_agg(h.hub_id ORDER BY h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = u.id) AS "hubId"
     FROM users u JOIN accounts a ON a.id = u.account_id WHERE u.id = $1`,
    [current.userId],
  )
  return {
    ...session,
    user: user as Opened['user'],
    isHubSet: await hasHub(tx, current.organizationId),
    memberships,
  }
}

/** The body of specification 2.2. `isCurrent` is true for exactly the organization that the token belongs to. */
export async function answerSignedIn(tokens: Tokens, opened: Opened, message: string) {
  const { sessionId, renewals, remainingS, user, isHubSet, memberships } = opened
  const claims = { sessionId, userId: user._id, organizationId: user.organizationId, renewals }
  const token = await tokens.sign(claims, remainingS)
  return {
    status: true as const,
    message,
    token,
    expires_in: remainingS,
    data: user,
    isHubSet,
    organizations: memberships.map(membership => ({
      ...membership,
      isCurrent: membership.organizationId === user.organizationId,
    })),
  }
}
