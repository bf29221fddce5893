import { newId, type Queryable } from '../../../db/client.ts'
import { findAccount, findFirstAccountId, findLanguageOfAccount } from '../../../db/queries/accounts.ts'
import { useAllowance } from '../../../db/queries/allowances.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import { beginReset, deleteReset, endResetMail, insertReset } from '../../../db/queries/password-resets.ts'
import type { MailConfig } from '../../config/mail.ts'
import { doublingBackoff, type JobKind } from '../../jobs/kind.ts'
import { createMailJob } from '../../mail/job.ts'
import { languageOf } from '../../mail/languages.ts'
import { messageIdOf, writeLetter } from '../../mail/letter.ts'
import type { MailSender } from '../../mail/sender.ts'
import { createLinkToken, type SealedTokens } from '../../mail/tokens.ts'
import { recordForAccount } from './audit.ts'

/**
 * Two jobs answer a forgotten password. The first looks the address up; a mail is written only if an account has it. The second
 * sends the mail. Every link works until its hour is over, since mails may arrive in another order than they were asked
 * for; the first that is used ends the others.
 */

export const FORGOTTEN_JOB = 'forgotten-password'
export const RESET_MAIL_JOB = 'password-reset-mail'
const LINK_LIFETIME_S = 3600
/** Whoever asks in somebody else's name fills no mailbox. The last link stays good, so they lock nobody out either. */
const PER_ACCOUNT = [
  { name: 'hour', max: 3, windowS: 3600 },
  { name: 'day', max: 10, windowS: 24 * 3600 },
]

/** Somebody who asks for a new password. */
export interface Forgotten {
  email: string
  language: string | null
}

interface Options {
  config: MailConfig
  sender: MailSender
  tokens: SealedTokens
  /** Whether a password opens the server's first account alone (`OIDC_ONLY`). */
  arePasswordsClosed: boolean
}

export function forgottenPasswordJobs(options: Options): JobKind[] {
  return [lookUpJob(options) as JobKind, mailJob(options) as JobKind]
}

function lookUpJob({ tokens, arePasswordsClosed }: Options): JobKind<Forgotten> {
  return {
    kind: FORGOTTEN_JOB,
    slots: 4,
    slotsPerRoot: 4,
    attempts: 20,
    backoffMs: doublingBackoff,
    timeoutMs: 60_000,
    async run({ job, commit }) {
      await commit(tx => answer(tx, job.payload, { tokens, arePasswordsClosed }))
      // The address that somebody typed is of no use any more, and may be nobody's.
      await commit(tx => tx.query(`DELETE FROM jobs WHERE kind = $1 AND status = 'done'`, [FORGOTTEN_JOB]))
    },
  }
}

async function answer(
  tx: Queryable,
  { email, language }: Forgotten,
  { tokens, arePasswordsClosed }: Pick<Options, 'tokens' | 'arePasswordsClosed'>,
): Promise<void> {
  const account = await findAccount(tx, email)
  // An address that was only invited has no password to replace.
  if (!account || account.passwordHash === null) return
  if (arePasswordsClosed && account.id !== (await findFirstAccountId(tx))) return
  for (const { name, ...allowance } of PER_ACCOUNT)
    if ((await useAllowance(tx, `password-reset:${name}:${account.id}`, allowance)) > 0) return
  const id = newId()
  const { token, hash: tokenHash } = createLinkToken('flp')
  const sealedToken = tokens.seal(token, id)
  await insertReset(tx, { id, accountId: account.id, tokenHash, sealedToken, language })
  await insertJob(tx, { id, kind: RESET_MAIL_JOB, organizationId: null })
  await recordForAccount(tx, account.id, 'forgot-password')
}

function mailJob({ config, sender, tokens }: Options): JobKind {
  return createMailJob({
    kind: RESET_MAIL_JOB,
    sender,
    async begin(tx, { id }) {
      // The hour begins anew with each attempt: until one succeeds nobody has the link.
      const reset = await beginReset(tx, id, LINK_LIFETIME_S)
      if (!reset) return null
      const token = tokens.open(reset.sealedToken, id)
      if (token === null) throw new Error('JWT_SECRET has changed, so the link has to be asked for again')
      const language = reset.language ?? (await findLanguageOfAccount(tx, reset.accountId))
      return writeLetter({
        to: reset.email,
        messageId: messageIdOf(id, config.from.address),
        language: languageOf(language),
        link: `${config.publicUrl}/reset-password#${token}`,
        publicUrl: config.publicUrl,
        word: texts => texts.passwordReset({ email: reset.email, minutes: LINK_LIFETIME_S / 60 }),
      })
    },
    async end(tx, { id, attempt }, result) {
      const accountId = await (result === 'sent' ? endResetMail(tx, id) : deleteReset(tx, id))
      if (accountId === null) return
      const changes = { mail: { to: 'password-reset' }, attempts: { to: attempt } }
      await recordForAccount(tx, accountId, result === 'sent' ? 'send-mail' : 'fail-mail', changes)
    },
  })
}
