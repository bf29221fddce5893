import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Caller } from '../../db/queries/sessions.ts'
import { authenticateKey, authenticateToken, isDeviceKey, type Publisher } from '../../ingest/authenticate.ts'
import { type FailureStatus, type failure, failures } from '../envelope.ts'
import { forbidden, RequestError } from '../errors.ts'
import { type Access, scopeOf } from '../permissions.ts'
import type { App, Services } from '../services.ts'
import { createRateLimits } from './rate-limits.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route asks of its caller. Every route says so. */
    access?: Access
    /** Whether a device's key opens it as well. */
    deviceKey?: boolean
    /** What a caller without the permission is told, instead of the usual sentence. */
    refusal?: string
    /** False where sending the same again has to be a new attempt. */
    idempotencyKey?: false
  }
  interface FastifyRequest {
    /** The user who calls; on routes that a device may call, see `publisher`. */
    caller: Caller
    publisher: Publisher
  }
}

/**
 * Who calls, and whether it may. Before the body is read, in one statement of its own: the session is read on every
 * request, so that a revoked token is dead at once, and no transaction is open while a body arrives slowly.
 */
export function addAuthentication(app: App, services: Services): void {
  app.decorateRequest('caller')
  app.decorateRequest('publisher')

  app.addHook('onRoute', route => {
    const access = route.config?.access
    if (!access) throw new Error(`${route.method} ${route.url} does not say what access it needs`)
    route.schema = {
      ...route.schema,
      response: { ...usualFailures(route), ...(route.schema?.response as object) },
      ...({ 'x-permission': access } as object),
      security: access === 'public' ? [] : [{ bearer: [] }],
    }
  })

  const limits = createRateLimits(services.config.rateLimitPerMinute)
  app.addHook('onClose', async () => limits.close())

  app.addHook('onRequest', async request => {
    const { access, deviceKey, refusal, role } = request.routeOptions.config
    // What takes points is held by back-pressure instead.
    const limited = role !== 'ingest'
    const refuse = (message: string) => {
      if (limited) limits.countStranger(request.ip)
      return new RequestError('unauthorized', message)
    }
    if (!access || access === 'public') {
      if (limited) limits.countStranger(request.ip)
      return
    }
    const token = readBearer(request)
    if (!token) throw refuse('A bearer token is required.')
    if (isDeviceKey(token)) {
      const device = await authenticateKey(services.db, token)
      if (!device) throw refuse('The device key is not valid.')
      if (!deviceKey) throw forbidden('A device key opens only the routes that take points.')
      request.publisher = device
      return
    }
    const caller = await authenticateToken(services.db, services.tokens, token)
    if (!caller) throw refuse('The token is expired, revoked or not valid.')
    if (limited) limits.countCaller(caller.userId)
    if (access !== 'session' && access !== 'device' && !scopeOf(caller.permissionDetails, access)) {
      throw forbidden(refusal ?? `Your role lacks the permission ${access}.`)
    }
    request.caller = caller
    request.publisher = {
      kind: 'user',
      id: caller.userId,
      organizationId: caller.organizationId,
      subject: caller.subject,
      sessionId: caller.sessionId,
      expiresAt: caller.expiresAt,
    }
  })
}

/** The failures that follow from what a route asks for; it names further ones itself. */
function usualFailures({ url, method, config, schema }: RouteOptions): Record<number, typeof failure> {
  const access = config?.access
  const statuses: FailureStatus[] = [500, 503]
  if (config?.role !== 'ingest') statuses.push(429)
  if (access !== 'public') statuses.push(401)
  if (access !== 'public' && access !== 'session') statuses.push(403)
  if (schema?.body || schema?.querystring) statuses.push(400)
  if (schema?.body) statuses.push(413, 415)
  if (url.includes(':')) statuses.push(404)
  if (method === 'POST' && config?.idempotencyKey !== false) statuses.push(409)
  return failures(...statuses)
}

/** The token of the Authorization header, or, for browsers' WebSockets, the one after `bearer` in the subprotocols. */
function readBearer(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization
  if (header !== undefined) return /^Bearer +(\S+)$/i.exec(header)?.[1]
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return undefined
  const protocols = request.headers['sec-websocket-protocol']?.split(',').map(protocol => protocol.trim())
  return protocols?.[0] === 'bearer' ? protocols[1] : undefined
}
