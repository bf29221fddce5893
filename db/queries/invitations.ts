import type { Queryable } from '../client.ts'

/** The invitation of a token. */
export interface Invitation {
  userId: string
  organizationId: string
  accountId: string
  roleId: string
  hubIds: string[]
  /** The user who created or renewed it last; null if that user was deleted. */
  invitedBy: string | null
}

/** Creates or renews the invitation of a user; an earlier token is no longer valid. */
export async function putInvitation(
  tx: Queryable,
  invitation: {
    organizationId: string
    userId: string
    invitedBy: string
    tokenHash: Buffer
    lifetimeS: number
  },
): Promise<Date> {
  const [row] = await tx.query<{ expiresAt: Date }>(
    `INSERT INTO invitations (user_id, organization_id, token_hash, expires_at, invited_by)
     VALUES ($1, $2, $3, now() + make_interval(secs => $4), $5)
     ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at,
       invited_by = excluded.invited_by
     RETURNING expires_at AS "expiresAt"`,
    [
      invitation.userId,
      invitation.organizationId,
      invitation.tokenHash,
      invitation.lifetimeS,
      invitation.invitedBy,
    ],
  )
  return (row as { expiresAt: Date }).expiresAt
}

/** The open invitation of a token, or null. Locked until the transaction ends, so that it is accepted only once. */
export async function findInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation | null> {
  const [row] = await tx.query<Invitation>(
    `SELECT u.id AS "userId", u.organization_id AS "organizationId", u.account_id AS "accountId", u.role_id AS "roleId",
       i.invited_by AS "invitedBy",
       (SELECT coalesce(json_agg(h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = u.id) AS "hubIds"
     FROM invitations i JOIN users u ON u.id = i.user_id JOIN organizations o ON o.id = u.organization_id
     WHERE i.token_hash = $1 AND i.expires_at > now() AND u.status = 'invited' AND o.deleted_at IS NULL
     FOR UPDATE OF i, u`,
    [tokenHash],
  )
  return row ?? null
}

/** Whether a user has not accepted yet: such a user has a row here, whatever its status is now. */
export async function isInvited(tx: Queryable, userId: string): Promise<boolean> {
  const [row] = await tx.query('SELECT user_id FROM invitations WHERE user_id = $1', [userId])
  return row !== undefined
}

/** Starts the membership. */
export async function acceptInvitation(tx: Queryable, userId: string, name: string): Promise<void> {
  await tx.query('DELETE FROM invitations WHERE user_id = $1', [userId])
  await tx.query(
    `UPDATE users SET status = 'active', name = $2, joined_at = now(), updated_at = now() WHERE id = $1`,
    [userId, name],
  )
}
