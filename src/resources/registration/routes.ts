import type { Queryable } from '../../../db/client.ts'
import {
  claimAccount,
  claimRoot,
  findAccount,
  listMemberships,
  registerAccount,
  setRoot,
} from '../../../db/queries/accounts.ts'
import { hasOpenInvitation } from '../../../db/queries/invitations.ts'
import { networkOf, siteOf } from '../../../fair/network.ts'
import { conflict, forbidden } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import { checkCode, checkPassword } from '../auth/brute-force.ts'
import { hashPassword } from '../auth/passwords.ts'
import { answerSignedIn, passwordsClosed } from '../auth/sign-in.ts'
import { enterOrganization } from '../organizations/create.ts'
import { totpRequired, wrongCode } from '../second-factor/challenges.ts'
import { createFactorSecrets } from '../second-factor/secrets.ts'
import { takeCode } from '../second-factor/verify.ts'
import * as operations from './schemas.ts'

/** Registration, if it is allowed. */
export function registrationRoutes(app: App, { db, tokens, config }: Services): void {
  const secrets = createFactorSecrets(config.jwtSecret)
  // Runs before the body is validated.
  const onRequest = async () => {
    if (config.oidc?.only) throw passwordsClosed()
    if (!config.allowSignup)
      throw forbidden('Registration is closed here. Ask an administrator to invite you.')
  }
  app.post('/auth/register', { ...operations.register, onRequest }, async (request, reply) => {
    const { name, email, password, code, organizationName, hubName, hubLat, hubLng } = request.body
    const taken = conflict('This e-mail address is registered already. Sign in.', 'not-unique')
    const known = await findAccount(db.system, email)
    const present = known?.passwordHash ?? null
    // Single sign-on opens it: whoever registers its address does not choose its password.
    if (known?.isBound && present === null) throw taken
    if (known && present !== null) {
      if ((await listMemberships(db.system, known.id)).length > 0) throw taken
      const guesser = { accountId: known.id, email, address: request.ip }
      if (!(await checkPassword(db.system, { ...known, ...guesser, password }))) throw taken
      if (known.hasSecondFactor) {
        if (code === undefined) throw totpRequired()
        const take = () => takeCode(db.system, secrets, known.id, code)
        if (!(await checkCode(db.system, guesser, take))) throw wrongCode()
      }
    }
    const passwordHash = present ?? (await hashPassword(password, networkOf(request.ip)))
    const opened = await db.system.transaction(async tx => {
      const account = await claimAccount(tx, email)
      // Another request has registered the account, changed its password, or given it access again meanwhile.
      if (account.passwordHash !== present || (present === null && account.isBound)) throw taken
      if (account.hasSecondFactor && !known?.hasSecondFactor) throw taken
      if (present !== null && (await listMemberships(tx, account.id)).length > 0) throw taken
      // Only who reads its mail may choose its password.
      if (present === null && config.mail && (await hasOpenInvitation(tx, account.id))) throw taken
      if (present === null) await setRoot(tx, account.id, await findRoot(tx, request.ip, account.id))
      const opened = await enterOrganization(tx, request, {
        organizationName,
        owner: { accountId: account.id, name },
        hub: { name: hubName, lat: hubLat, lng: hubLng, address: null },
        copyFrom: null,
        hubsFrom: null,
      })
      // The rule of specification 5.4 depends on the organization in which an account first registered.
      if (present === null) {
        const registeredIn = opened.user.organizationId
        await registerAccount(tx, account.id, { passwordHash, registeredIn })
      }
      return opened
    })
    reply.code(201)
    return answerSignedIn(tokens, opened, 'Account registered')
  })
}

/** A proxy on this machine that is not configured gives many clients this address. */
const LOOPBACK = /^(127\.|::1$)/

const findRoot = async (tx: Queryable, address: string, accountId: string): Promise<string> =>
  LOOPBACK.test(address) ? accountId : claimRoot(tx, siteOf(address), accountId)
