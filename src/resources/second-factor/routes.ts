import { notify, type Queryable } from '../../../db/client.ts'
import { findAccountById, holdPassword, listMemberships, lockAccount } from '../../../db/queries/accounts.ts'
import { countAttempt, deleteChallenge, findChallenge } from '../../../db/queries/login-challenges.ts'
import {
  beginSecondFactor,
  confirmSecondFactor,
  deleteSecondFactor,
  findSecondFactor,
  listDemanding,
  listUnsecured,
  setRecoveryCodes,
} from '../../../db/queries/second-factors.ts'
import { deleteOtherSignIns } from '../../../db/queries/sessions.ts'
import { record } from '../../http/audit.ts'
import { ok } from '../../http/envelope.ts'
import { conflict, forbidden, found, invalid } from '../../http/errors.ts'
import { scopeOf } from '../../http/permissions.ts'
import type { App, Services } from '../../services.ts'
import { checkCode, checkPassword } from '../auth/brute-force.ts'
import { answerSignedIn, openSession, originOf } from '../auth/sign-in.ts'
import { acceptByToken } from '../invitations/accept.ts'
import { challengeEnded, digestChallenge, digestPassword, wrongCode } from './challenges.ts'
import * as operations from './schemas.ts'
import { createFactorSecrets } from './secrets.ts'
import { digestRecoveryCode, newFactorSecret, newRecoveryCodes, stepOf, uriOf } from './totp.ts'
import { takeCode } from './verify.ts'

/** Wrong codes until a challenge ends. */
const MAX_WRONG = 5
/** The users without a second factor who are named. */
const MAX_NAMED = 100

/** The second factor of an account: codes of an app, and recovery codes. */
export function secondFactorRoutes(app: App, { db, tokens, config, lastSeen }: Services): void {
  const secrets = createFactorSecrets(config.jwtSecret)

  app.post('/auth/totp', operations.beginTotp, async ({ caller: { accountId } }) => {
    const { email, passwordHash } = found('account', await findAccountById(db.system, accountId))
    if (passwordHash === null)
      throw conflict('This account has no password: single sign-on asks for its second factor.')
    const secret = newFactorSecret()
    if (!(await beginSecondFactor(db.system, accountId, secrets.seal(secret, accountId)))) throw isOn()
    return ok({ secret, uri: uriOf(secret, email) })
  })

  app.post('/auth/totp/confirm', operations.confirmTotp, async ({ caller, body }) => {
    const { accountId, sessionId, userId: resourceId } = caller
    const begun = await findSecondFactor(db.system, accountId)
    if (!begun) throw conflict('No second factor is being set up. Begin with POST /auth/totp.')
    if (begun.isConfirmed) throw isOn()
    const secret = secrets.open(begun.secret, accountId)
    const step = secret === null ? null : stepOf(secret, body.code.replace(/\s/g, ''))
    if (step === null) throw invalid('code', 'This is not the code that the app shows now.')
    const recoveryCodes = newRecoveryCodes()
    await db.system.transaction(async tx => {
      // A sign-in that is under way comes first, or asks for a code.
      await lockAccount(tx, accountId)
      if (!(await confirmSecondFactor(tx, accountId, { secret: begun.secret, step })))
        throw conflict('The second factor was set up at the same moment. Look at it again.')
      await setRecoveryCodes(tx, accountId, recoveryCodes.map(digestRecoveryCode))
      await deleteOtherSignIns(tx, accountId, sessionId)
      await record(tx, caller, { action: 'add-second-factor', resource: 'user', resourceId })
    })
    return ok({ recoveryCodes }, 'Second factor added')
  })

  app.delete('/auth/totp', operations.deleteTotp, async request => {
    const { accountId, sessionId, userId: resourceId } = request.caller
    const { password, code } = request.body
    const account = found('account', await findAccountById(db.system, accountId))
    if (!account.hasSecondFactor) throw conflict('This account has no second factor.')
    const guesser = { accountId, email: account.email, address: request.ip }
    if (!(await checkPassword(db.system, { ...account, ...guesser, password })))
      throw invalid('password', 'This is not the present password.')
    const isRight = await checkCode(db.system, guesser, () => takeCode(db.system, secrets, accountId, code))
    if (!isRight) throw invalid('code', 'This is no code that counts now.')
    await db.system.transaction(async tx => {
      await lockAccount(tx, accountId)
      if (!(await deleteSecondFactor(tx, accountId))) throw conflict('This account has no second factor.')
      await deleteOtherSignIns(tx, accountId, sessionId)
      await record(tx, request.caller, { action: 'remove-second-factor', resource: 'user', resourceId })
      // Open sockets in organizations that demand one are closed.
      const organizations = await listDemanding(tx, accountId)
      await notify(
        tx,
        ...organizations.map(organizationId => ({ kind: 'visibility' as const, organizationId })),
      )
    })
    return ok({}, 'Second factor removed')
  })

  app.post('/auth/login/totp', operations.loginTotp, async request => {
    const { challenge, code } = request.body
    const digest = digestChallenge(challenge)
    const signIn = await findChallenge(db.system, digest, MAX_WRONG)
    if (!signIn) throw challengeEnded()
    const { accountId, email, passwordDigest } = signIn
    const hasPassword = (hash: string | null) => hash !== null && digestPassword(hash).equals(passwordDigest)
    const account = found('account', await findAccountById(db.system, accountId))
    if (!hasPassword(account.passwordHash)) throw challengeEnded()
    const isRight = await checkCode(db.system, { accountId, email, address: request.ip }, async () => {
      if (!(await countAttempt(db.system, digest, MAX_WRONG))) throw challengeEnded()
      return takeCode(db.system, secrets, accountId, code)
    })
    if (!isRight) throw wrongCode()
    await lastSeen.flushUsers()
    const opened = await db.system.transaction(async tx => {
      const organizationId = await join(tx, signIn)
      // The password may have been changed, or another request may have used the challenge, since it was read.
      if (!hasPassword(await holdPassword(tx, accountId))) throw challengeEnded()
      if (!(await deleteChallenge(tx, digest))) throw challengeEnded()
      const current = organizationId ?? (await listMemberships(tx, accountId))[0]?.organizationId
      if (!current) throw forbidden('This account is not active in any organization.', 'no-organization')
      return openSession(tx, { accountId, organizationId: current }, originOf(request))
    })
    return answerSignedIn(tokens, found('organization', opened), 'Signed in')
  })

  app.get('/organization/second-factor', operations.getUnsecured, async ({ caller }) => {
    const { organizationId, hubIds, permissionDetails } = caller
    const { total, users } = await listUnsecured(db.system, organizationId, MAX_NAMED)
    // Whoever changes settings need not see every user.
    const seesAll = hubIds === null && scopeOf(permissionDetails, 'view/user') === 'all'
    return ok({ total, users: seesAll ? users : [] })
  })
}

/** Accepts the invitation that the sign-in is for, if it is. Returns the organization that it leads to, if it is named. */
async function join(
  tx: Queryable,
  {
    accountId,
    invitation,
    name,
    wanted,
  }: { accountId: string } & Pick<
    NonNullable<Awaited<ReturnType<typeof findChallenge>>>,
    'invitation' | 'name' | 'wanted'
  >,
): Promise<string | null> {
  if (!invitation || name === null) return wanted
  return acceptByToken(tx, { hash: invitation, accountId, name })
}

const isOn = () => conflict('This account has a second factor. Remove it before you set up another one.')
