import type { FastifyReply, FastifyRequest } from 'fastify'
import { takeSignInCode } from '../../../db/queries/single-sign-on.ts'
import { RequestError } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import { answerSignedIn, openSession, originOf } from '../auth/sign-in.ts'
import { createAttempts, withParameter } from './attempts.ts'
import { digestCode, enter } from './enter.ts'
import { notInvited, notSetUp, signOnFailed } from './failures.ts'
import { createProvider } from './provider.ts'
import * as operations from './schemas.ts'

const CALLBACK = '/auth/oidc/callback'
/** The page that shows a failure where the way back is not known. */
const SIGN_IN = '/sign-in'

/** Single sign-on by OpenID Connect. */
export function singleSignOnRoutes(app: App, { config, db, tokens, lastSeen }: Services): void {
  const { oidc, publicUrl } = config
  const redirectUri = `${publicUrl}/api/v3${CALLBACK}`
  const onFailure = (reason: string) => app.log.warn({ reason }, 'Single sign-on failed')
  const provider = oidc && publicUrl ? createProvider(oidc, { redirectUri, onFailure }) : null
  const attempts = createAttempts(config.jwtSecret, publicUrl ?? '')

  app.get('/auth/oidc/start', operations.startOidc, async (request, reply) => {
    const { returnTo } = request.query
    if (!provider) throw notSetUp()
    return orBack(request, reply, returnTo, async () => {
      const { url, ...checks } = await provider.begin()
      attempts.keep(reply, { ...checks, returnTo })
      return url.href
    })
  })

  app.get(CALLBACK, operations.finishOidc, async (request, reply) => {
    if (!provider) throw notSetUp()
    const attempt = attempts.take(request, reply, request.query.state ?? '')
    return orBack(request, reply, attempt?.returnTo ?? SIGN_IN, async () => {
      if (!attempt) throw signOnFailed()
      const callback = new URL(redirectUri)
      callback.search = request.url.slice(request.url.indexOf('?'))
      const person = await provider.finish(callback, attempt)
      const code = await db.system.transaction(tx => enter(tx, person, config))
      return withParameter(attempt.returnTo, 'code', code)
    })
  })

  app.post('/auth/oidc/session', operations.createOidcSession, async request => {
    if (!provider) throw notSetUp()
    await lastSeen.flushUsers()
    const opened = await db.system.transaction(async tx => {
      const member = await takeSignInCode(tx, digestCode(request.body.code))
      return (
        member && { session: await openSession(tx, member, { ...originOf(request), isByProvider: true }) }
      )
    })
    if (!opened) throw signOnFailed()
    if (!opened.session) throw notInvited()
    return answerSignedIn(tokens, opened.session, 'Signed in')
  })
}

/** Goes where `work` leads. A browser that fails goes to the page that says so: a person is to read no JSON. */
async function orBack(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  page: string,
  work: () => Promise<string>,
): Promise<FastifyReply> {
  try {
    return reply.redirect(await work(), 303)
  } catch (error) {
    const isBrowser = headers.accept?.includes('text/html')
    if (!isBrowser || !(error instanceof RequestError)) throw error
    return reply.redirect(withParameter(page, 'problem', error.code), 303)
  }
}
