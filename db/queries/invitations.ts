import type { Queryable } from '../client.ts'

/** The invitation of a token. */
export interface Invitation {
  userId: string
  organizationId: string
  accountId: string
  roleId: string
  hubIds: string[]
  /** As the inviter has written it. */
  name: string
  /** The user who created or renewed it last; null if that user was deleted. */
  invitedBy: string | null
  /** How its mail fares; null if the inviter has the token, to pass it on. */
  mail: MailState | null
}

/** `refused`: the mail server refuses the address or the mail for good. `failed`: it was not reached for a day. */
export type MailState = 'waiting' | 'sent' | 'refused' | 'failed'

/** Creates or renews the invitation of a user; an earlier token is no longer valid. */
export async function putInvitation(
  tx: Queryable,
  invitation: {
    organizationId: string
    userId: string
    invitedBy: string
    tokenHash: Buffer
    lifetimeS: number
    /** The mail that brings the token, if the inviter does not pass it on. */
    mail: { jobId: string; sealedToken: Buffer } | null
  },
): Promise<Date> {
  const [row] = await tx.query<{ expiresAt: Date }>(
    `INSERT INTO invitations
       (user_id, organization_id, token_hash, expires_at, invited_by, mail, mail_job, sealed_token)
     VALUES ($1, $2, $3, now() + make_interval(secs => $4), $5, $6, $7, $8)
     ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at,
       invited_by = excluded.invited_by, mail = excluded.mail, mail_job = excluded.mail_job,
       sealed_token = excluded.sealed_token
     RETURNING expires_at AS "expiresAt"`,
    [
      invitation.userId,
      invitation.organizationId,
      invitation.tokenHash,
      invitation.lifetimeS,
      invitation.invitedBy,
      invitation.mail && 'waiting',
      invitation.mail?.jobId ?? null,
      invitation.mail?.sealedToken ?? null,
    ],
  )
  return (row as { expiresAt: Date }).expiresAt
}

/** The open invitation of a token, or null. Locked until the transaction ends, so that it is accepted only once. */
export async function findInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation | null> {
  const [row] = await tx.query<Invitation>(
    `SELECT u.id AS "userId", u.organization_id AS "organizationId", u.account_id AS "accountId", u.role_id AS "roleId",
       u.name, i.invited_by AS "invitedBy", i.mail,
       (SELECT coalesce(json_agg(h.hub_id), '[]') FROM user_hubs h WHERE h.user_id = u.id) AS "hubIds"
     FROM invitations i JOIN users u ON u.id = i.user_id JOIN organizations o ON o.id = u.organization_id
     WHERE i.token_hash = $1 AND i.expires_at > now() AND u.status = 'invited' AND o.deleted_at IS NULL
     FOR UPDATE OF i, u`,
    [tokenHash],
  )
  return row ?? null
}

/** The organization of an open invitation, or null. */
export async function findInvitingOrganization(tx: Queryable, tokenHash: Buffer): Promise<string | null> {
  const [row] = await tx.query<{ organizationId: string }>(
    'SELECT organization_id AS "organizationId" FROM invitations WHERE token_hash = $1 AND expires_at > now()',
    [tokenHash],
  )
  return row?.organizationId ?? null
}

/** More than anybody accepts at once: the others wait for the next sign-in. */
const MAX_ACCEPTED = 20

/** The open invitations of an account, by organization. */
export function listOpenInvitations(
  tx: Queryable,
  accountId: string,
): Promise<{ organizationId: string; tokenHash: Buffer }[]> {
  return tx.query(
    `SELECT i.organization_id AS "organizationId", i.token_hash AS "tokenHash"
     FROM invitations i JOIN users u ON u.id = i.user_id JOIN organizations o ON o.id = u.organization_id
     WHERE u.account_id = $1 AND u.status = 'invited' AND i.expires_at > now() AND o.deleted_at IS NULL
     ORDER BY i.organization_id LIMIT ${MAX_ACCEPTED}`,
    [accountId],
  )
}

/** Whether a user has not accepted yet: such a user has a row here, whatever its status is now. */
export async function isInvited(tx: Queryable, userId: string): Promise<boolean> {
  const [row] = await tx.query('SELECT user_id FROM invitations WHERE user_id = $1', [userId])
  return row !== undefined
}

export async function hasOpenInvitation(tx: Queryable, accountId: string): Promise<boolean> {
  const rows = await tx.query(
    `SELECT FROM invitations i JOIN users u ON u.id = i.user_id WHERE u.account_id = $1 AND i.expires_at > now() LIMIT 1`,
    [accountId],
  )
  return rows.length > 0
}

/** Starts the membership. */
export async function acceptInvitation(tx: Queryable, userId: string, name: string): Promise<void> {
  await tx.query('DELETE FROM invitations WHERE user_id = $1', [userId])
  await tx.query(
    `UPDATE users SET status = 'active', name = $2, joined_at = now(), updated_at = now() WHERE id = $1`,
    [userId, name],
  )
}

/** The mail of an invitation, as it is to be written now. */
export interface InvitationMail {
  userId: string
  email: string
  organization: string
  /** The organization's language; null if nobody has set one. */
  language: string | null
  role: string
  inviter: string | null
  sealedToken: Buffer
  tokenHash: Buffer
}

/** The values of the job's mail; null if the invitation was accepted, renewed or withdrawn, or has expired. */
export async function findInvitationMail(tx: Queryable, jobId: string): Promise<InvitationMail | null> {
  const [row] = await tx.query<InvitationMail>(
    `SELECT u.id AS "userId", a.email, o.name AS organization, o.language, r.name AS role, n.name AS inviter,
       i.sealed_token AS "sealedToken", i.token_hash AS "tokenHash"
     FROM invitations i JOIN users u ON u.id = i.user_id JOIN user_accounts a ON a.user_id = u.id
       JOIN roles r ON r.id = u.role_id JOIN organizations o ON o.id = i.organization_id
       LEFT JOIN users n ON n.id = i.invited_by
     WHERE i.mail_job = $1 AND i.sealed_token IS NOT NULL AND i.expires_at > now() AND u.status = 'invited'
       AND o.deleted_at IS NULL`,
    [jobId],
  )
  return row ?? null
}

/** Notes how the job's mail ended. Returns the invited user, or null if the invitation is another one by now. */
export async function endInvitationMail(
  tx: Queryable,
  jobId: string,
  state: MailState,
): Promise<string | null> {
  const [row] = await tx.query<{ userId: string }>(
    `UPDATE invitations SET mail = $2, sealed_token = NULL WHERE mail_job = $1 AND sealed_token IS NOT NULL
     RETURNING user_id AS "userId"`,
    [jobId, state],
  )
  return row?.userId ?? null
}
