import { acrossOrganizations, newId, type Queryable } from '../../../db/client.ts'
import { useAllowance } from '../../../db/queries/allowances.ts'
import { endInvitationMail, findInvitationMail } from '../../../db/queries/invitations.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import type { MailConfig } from '../../config/mail.ts'
import { record } from '../../http/audit.ts'
import { RequestError } from '../../http/errors.ts'
import type { JobKind } from '../../jobs/kind.ts'
import { createMailJob } from '../../mail/job.ts'
import { languageOf } from '../../mail/languages.ts'
import { messageIdOf, showName, writeLetter } from '../../mail/letter.ts'
import type { MailSender } from '../../mail/sender.ts'
import { hashLinkToken, type SealedTokens } from '../../mail/tokens.ts'
import { INVITATION_LIFETIME_S } from './token.ts'

/** Mails invitations. The token stands sealed in the invitation until its mail has been handed over. */

const KIND = 'invitation-mail'
const DAY_S = 24 * 3600
/** Nobody is to get more of them than somebody who looks for the mail asks for. */
const PER_PERSON = { max: 5, windowS: DAY_S }
/** A company that starts invites its people in a day; a stranger who registers must not mail the world. */
const PER_ROOT = { max: 500, windowS: DAY_S }

export interface Invited {
  userId: string
  accountId: string
}

/** The part of an invitation that its mail needs, in the transaction that stores it. Throws 429 if there were too many. */
export async function mailInvitation(
  tx: Queryable,
  { root, organizationId }: Caller,
  { userId, accountId, token, tokens }: Invited & { token: string; tokens: SealedTokens },
): Promise<{ jobId: string; sealedToken: Buffer }> {
  await acrossOrganizations(tx, async () => {
    // In this order everywhere, so that two invitations never wait for each other.
    const waits = [
      await useAllowance(tx, `invitations:${root}`, PER_ROOT),
      // By account: deleting the user and inviting the same person again is one more mail to them.
      await useAllowance(tx, `invitation:${root}:${accountId}`, PER_PERSON),
    ]
    const waitS = Math.max(...waits)
    if (waitS > 0)
      throw new RequestError('rate-limited', 'Too many invitations were mailed today.', {}, waitS)
  })
  const jobId = newId()
  await insertJob(tx, { id: jobId, kind: KIND, organizationId })
  return { jobId, sealedToken: tokens.seal(token, userId) }
}

export function invitationMailJob({
  config,
  sender,
  tokens,
}: {
  config: MailConfig
  sender: MailSender
  tokens: SealedTokens
}): JobKind {
  return createMailJob({
    kind: KIND,
    sender,
    async begin(tx, { id }) {
      const mail = await findInvitationMail(tx, id)
      if (!mail) return null
      const token = tokens.open(mail.sealedToken, mail.userId)
      if (token === null) throw new Error('JWT_SECRET has changed, so the invitation has to be renewed')
      // A process of an earlier release renews an invitation without knowing of its mail.
      if (!hashLinkToken(token).equals(mail.tokenHash)) return null
      const { inviter, role } = mail
      const organization = showName(mail.organization)
      return writeLetter({
        to: mail.email,
        messageId: messageIdOf(id, config.from.address),
        language: languageOf(mail.language),
        link: `${config.publicUrl}/invitation#${token}`,
        publicUrl: config.publicUrl,
        word: texts =>
          texts.invitation({
            organization,
            role: showName(role),
            inviter: inviter === null ? null : showName(inviter),
            days: INVITATION_LIFETIME_S / DAY_S,
          }),
      })
    },
    async end(tx, { id, organizationId, attempt }, result) {
      const userId = await endInvitationMail(tx, id, result)
      if (userId === null || organizationId === null) return
      const changes = { mail: { to: 'invitation' }, attempts: { to: attempt } }
      const action = result === 'sent' ? 'send-mail' : 'fail-mail'
      const actor = { organizationId, userId: null }
      await record(tx, actor, { action, resource: 'user', resourceId: userId, changes })
    },
  }) as JobKind
}
