import type { FastifyRequest } from 'fastify'
import type { Queryable } from '../../../db/client.ts'
import { holdPassword, listMemberships, type Membership } from '../../../db/queries/accounts.ts'
import { rememberAddress } from '../../../db/queries/known-addresses.ts'
import { hasHub } from '../../../db/queries/organizations.ts'
import { insertSession, type Origin } from '../../../db/queries/sessions.ts'
import { networkOf } from '../../../fair/network.ts'
import { TOKEN_LIFETIME_S, type Tokens } from '../../../ingest/identity/tokens.ts'

const MAX_USER_AGENT_LENGTH = 300

/** The client's program and address, for the list of sessions. */
export function originOf(request: FastifyRequest): Origin {
  return {
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
    address: request.ip,
  }
}

/** A session that was opened in a transaction; `answer` turns it into the body of specification 2.2. */
export interface Opened {
  sessionId: string
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
  await holdPassword(tx, member.accountId)
  const memberships = await listMemberships(tx, member.accountId)
  const current = memberships.find(({ organizationId }) => organizationId === member.organizationId)
  const sessionId = current && (await insertSession(tx, current.userId, TOKEN_LIFETIME_S, origin))
  if (!sessionId) return null
  if (origin.address !== null) await rememberAddress(tx, member.accountId, networkOf(origin.address))
  const [user] = await tx.query<Opened['user']>(
    `SELECT u.id AS "_id", u.name, a.email, u.organization_id AS "organizationId",
       (SELECT coalesce(json_agg(h.hub_id ORDER BY h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = u.id) AS "hubId"
     FROM users u JOIN accounts a ON a.id = u.account_id WHERE u.id = $1`,
    [current.userId],
  )
  return {
    sessionId,
    user: user as Opened['user'],
    isHubSet: await hasHub(tx, member.organizationId),
    memberships,
  }
}

/** The body of specification 2.2. `isCurrent` is true for exactly the organization that the token belongs to. */
export async function answerSignedIn(tokens: Tokens, opened: Opened, message: string) {
  const { sessionId, user, isHubSet, memberships } = opened
  const token = await tokens.sign({
    sessionId,
    userId: user._id,
    organizationId: user.organizationId,
    renewals: 0,
  })
  return {
    status: true as const,
    message,
    token,
    expires_in: TOKEN_LIFETIME_S,
    data: user,
    isHubSet,
    organizations: memberships.map(membership => ({
      ...membership,
      isCurrent: membership.organizationId === user.organizationId,
    })),
  }
}
