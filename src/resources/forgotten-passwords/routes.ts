import type { Queryable } from '../../../db/client.ts'
import { updatePassword } from '../../../db/queries/accounts.ts'
import { useAllowance } from '../../../db/queries/allowances.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import { findReset } from '../../../db/queries/password-resets.ts'
import { describeSecondFactor } from '../../../db/queries/second-factors.ts'
import { deleteSessionsOf } from '../../../db/queries/sessions.ts'
import { networkOf } from '../../../fair/network.ts'
import { ok } from '../../http/envelope.ts'
import { found, RequestError } from '../../http/errors.ts'
import { preferredLanguage } from '../../mail/languages.ts'
import { hashLinkToken } from '../../mail/tokens.ts'
import type { App, Services } from '../../services.ts'
import { forgetFailures } from '../auth/brute-force.ts'
import { hashPassword } from '../auth/passwords.ts'
import { recordForAccount } from './audit.ts'
import { FORGOTTEN_JOB, type Forgotten } from './job.ts'
import * as operations from './schemas.ts'

/** An office behind one address may forget that many passwords in an hour. */
const PER_NETWORK = { max: 30, windowS: 3600 }

/**
 * Forgotten passwords. Whether an address has an account is looked up by a job, so that the request tells it neither by
 * its answer nor by its time.
 */
export function forgottenPasswordRoutes(app: App, { db, config }: Services): void {
  app.post('/auth/forgot-password', operations.forgotPassword, async request => {
    if (!config.mail) {
      throw new RequestError(
        'not-found',
        'This server sends no mail. Ask an administrator for a new password.',
      )
    }
    const payload: Forgotten = {
      email: request.body.email,
      language: preferredLanguage(request.headers['accept-language']),
    }
    await db.system.transaction(async tx => {
      const waitS = await useAllowance(tx, `forgot-password:${networkOf(request.ip)}`, PER_NETWORK)
      if (waitS > 0) {
        throw new RequestError(
          'rate-limited',
          'Too many passwords were forgotten here. Wait a while.',
          {},
          waitS,
        )
      }
      await insertJob(tx, { kind: FORGOTTEN_JOB, organizationId: null, payload })
    })
    return ok({}, 'If an account has this address, a mail is on its way')
  })

  app.post('/auth/reset-forgotten-password', operations.resetForgottenPassword, async request => {
    const { token, password } = request.body
    const tokenHash = hashLinkToken(token)
    const find = async (tx: Queryable) => found(GONE, await findReset(tx, tokenHash))
    // Checked first, so that nobody takes a turn at hashing without a link.
    await db.system.transaction(find)
    const passwordHash = await hashPassword(password, networkOf(request.ip))
    await db.system.transaction(async tx => {
      const { accountId, email } = await find(tx)
      // The account's other links end with its password (a trigger), the sessions here.
      await updatePassword(tx, accountId, passwordHash)
      await deleteSessionsOf(tx, accountId)
      // Failures may be guesses at codes, and whoever reads the mail is to have no further ones.
      if (!(await describeSecondFactor(tx, accountId)).isOn) await forgetFailures(tx, email)
      await recordForAccount(tx, accountId, 'reset-forgotten-password')
    })
    return ok({}, 'Password replaced')
  })
}

const GONE = 'link, or it has expired or been used'
