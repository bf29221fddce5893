import { claimAccount, findAccountById, registerAccount } from '../../db/queries/accounts.ts'
import { acceptInvitation, findInvitation } from '../../db/queries/invitations.ts'
import { raiseSight } from '../../db/queries/organizations.ts'
import { record } from '../audit/record.ts'
import { failures } from '../envelope.ts'
import { conflict, forbidden, invalid, notFound, RequestError } from '../errors.ts'
import { createOrganization } from '../organizations/create.ts'
import { orderSampleData } from '../organizations/sample-data.ts'
import type { App, Services } from '../services.ts'
import { checkPassword } from './brute-force.ts'
import { hashInvitationToken } from './invitation-token.ts'
import { hashPassword } from './passwords.ts'
import { acceptance, newPassword, registration, signedIn } from './schemas.ts'
import { answerSignedIn, type Opened, openSession, originOf } from './sign-in.ts'

const tags = ['Accounts']

/** How an account comes into being: by registering, where that is allowed, or by accepting an invitation. */
export function registerRoutes(app: App, { db, tokens, config }: Services): void {
  app.post(
    '/auth/register',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'Register an account with an organization of its own',
        description: 'Open where the service runs with `ALLOW_SIGNUP=true`. The account becomes the owner.',
        body: registration,
        response: { 201: signedIn, ...failures(403, 409) },
      },
    },
    async (request, reply) => {
      if (!config.allowSignup)
        throw forbidden('Registration is closed here. Ask an administrator to invite you.')
      const { name, email, password, organizationName, hubName, hubLat, hubLng } = request.body
      const passwordHash = await hashPassword(password)
      const opened = await db.system(async tx => {
        const account = await claimAccount(tx, email)
        if (account.passwordHash !== null)
          throw conflict('This e-mail address is registered already. Sign in.')
        const { organizationId, userId } = await createOrganization(tx, {
          organizationName,
          owner: { accountId: account.id, name },
          hub: { name: hubName, lat: hubLat, lng: hubLng, address: null },
          copyFrom: null,
          hubsFrom: null,
        })
        await registerAccount(tx, account.id, { passwordHash, registeredIn: organizationId })
        await record(
          tx,
          { organizationId, userId },
          {
            action: 'create',
            resource: 'organization',
            resourceId: organizationId,
            changes: { name: { to: organizationName } },
          },
        )
        await orderSampleData(tx, organizationId)
        return openSession(tx, { accountId: account.id, organizationId }, originOf(request))
      })
      reply.code(201)
      return answerSignedIn(tokens, opened as Opened, 'Account registered')
    },
  )

  app.post(
    '/auth/accept-invitation',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'Join an organization',
        description: `With the token that an administrator passed on. A new account gets its first password; of one that
exists, \`password\` has to be its present one.`,
        body: acceptance,
        response: { 200: signedIn, ...failures(401, 404) },
      },
    },
    async request => {
      const { token, name, password } = request.body
      const hash = hashInvitationToken(token)
      const account = await db.system(async tx => {
        const invitation = await findInvitation(tx, hash)
        return invitation && findAccountById(tx, invitation.accountId)
      })
      if (!account) throw gone()
      const { passwordHash, email } = account
      let first: string | null = null
      if (passwordHash === null) {
        const problem = newPassword.safeParse(password).error?.issues[0]?.message
        if (problem) throw invalid('password', problem)
        first = await hashPassword(password)
      } else if (!(await checkPassword(db, { email, address: request.ip, passwordHash, password }))) {
        throw new RequestError('unauthorized', 'This is not the present password of the account.')
      }

      const opened = await db.system(async tx => {
        const invitation = await findInvitation(tx, hash)
        if (!invitation) throw gone()
        const { userId, organizationId, accountId } = invitation
        // Somebody else may have given the account its first password meanwhile: then this one proves nothing.
        const current = await claimAccount(tx, email)
        if (current.passwordHash !== passwordHash) throw gone()
        if (first !== null) {
          await registerAccount(tx, accountId, { passwordHash: first, registeredIn: organizationId })
        }
        await acceptInvitation(tx, userId, name)
        await record(
          tx,
          { organizationId, userId },
          {
            action: 'accept-invitation',
            resource: 'user',
            resourceId: userId,
            changes: { status: { from: 'invited', to: 'active' } },
          },
        )
        await raiseSight(tx, organizationId)
        return openSession(tx, { accountId, organizationId }, originOf(request))
      })
      return answerSignedIn(tokens, opened as Opened, 'Invitation accepted')
    },
  )
}

const gone = () => notFound('invitation, or it has expired or been used')
