import type { FastifyContextConfig, FastifyRequest, RouteOptions } from 'fastify'
import { isUuid } from '../../../db/client.ts'
import { createLookup } from '../../../db/lookup.ts'
import { listDevicesByKey } from '../../../db/queries/devices.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { listTrackerConnections, type TrackerConnection } from '../../../ingest/connections/connection.ts'
import {
  authenticateKey,
  authenticateToken,
  createBearers,
  findByKey,
  hashKey,
  isDeviceKey,
  type Publisher,
  toPublisher,
} from '../../../ingest/identity/authenticate.ts'
import type { App, Services } from '../../services.ts'
import { type FailureStatus, type failure, failures } from '../envelope.ts'
import { forbidden, lacksPermission, lacksSecondFactor, notFound, RequestError } from '../errors.ts'
import { checkEndless, takesEndlessKeys } from '../key-life.ts'
import { type KnownCallers, readToken } from '../known-callers.ts'
import { type Access, scopeOf } from '../permissions.ts'
import type { EnterFlight } from './in-flight.ts'
import { createRateLimits } from './rate-limits.ts'

/** Each takes 100 bytes. */
const MAX_KNOWN_KEYS = 50_000

/** The security schemes in the document; any other access uses a bearer token. */
const SECURITY: { [access in Access]?: { [scheme: string]: [] }[] } = {
  public: [],
  device: [{ bearer: [] }, { password: [] }, { token: [] }],
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access that the route requires. Every route declares it. */
    access?: Access
    /** Whether a device's key opens the route as well. */
    deviceKey?: boolean
    /** Whether an API key opens the route. By default it does if the route requires a permission. */
    apiKey?: boolean
    /** Whether it is open to a user without the second factor that the organization demands. */
    withoutSecondFactor?: boolean
    /** Whether only the key of the connection in its path opens the route. */
    connectionKey?: boolean
    /** Whether the token of a tracking link, `?token=`, opens it as well. */
    linkToken?: boolean
    /** The name under which its requests are counted apart from the caller's others, so that many at once delay nothing else. */
    apart?: string
    /** The sentence for a caller without the permission, instead of the usual one. */
    denial?: string
    /** Whether its answer holds a secret that is shown once: then an Idempotency-Key belongs to the secret of an API key. */
    answersSecret?: boolean
    /** False for routes where a repeated request must be a new attempt. */
    idempotencyKey?: false
  }
  interface FastifyRequest {
    /** The calling user or API key; on routes that a device may call, see `publisher`. */
    caller: Caller
    publisher: Publisher
    /** The connection of trackers that stands in for a caller. */
    trackers: TrackerConnection | null
    /** The tracking link that stands in for a caller. */
    link: { id: string } | null
  }
}

/**
 * Authenticates and authorizes the caller before the body is read, so that no stranger can upload. Does it again when
 * the body is complete, since a body may take 30 s to arrive. The lookups are statements of their own, batched with
 * those of other requests: the session is read every time, so that a revoked token is invalid at once, and no
 * transaction stays open while a body arrives slowly.
 */
export function addAuthentication(
  app: App,
  services: Services,
  {
    known: callers,
    enterFlight,
    findLink,
  }: {
    known: KnownCallers
    enterFlight: EnterFlight
    /** The open tracking link of a token. */
    findLink: (token: string) => Promise<{ id: string } | null>
  },
): void {
  app.decorateRequest('caller')
  app.decorateRequest('publisher')
  app.decorateRequest('trackers', null)
  app.decorateRequest('link', null)

  app.addHook('onRoute', route => {
    const access = route.config?.access
    if (!access) throw new Error(`${route.method} ${route.url} does not say what access it needs`)
    route.schema = {
      ...route.schema,
      response: { ...usualFailures(route), ...(route.schema?.response as object) },
      ...({
        'x-permission': access,
        ...describeApiKeys(route.config),
        ...(route.config?.answersSecret ? { 'x-answers-secret': true } : {}),
      } as object),
      security: route.config?.connectionKey
        ? [{ bearer: [] }, { password: [] }, { key: [] }]
        : (SECURITY[access] ?? [{ bearer: [] }, ...(route.config?.linkToken ? [{ link: [] }] : [])]),
    }
  })

  const findDevice = createLookup(hashes => listDevicesByKey(services.db.signIn, hashes))
  const findTrackers = createLookup(ids => listTrackerConnections(services.db.signIn, services.profiles, ids))
  const bearers = createBearers(services.db.signIn)
  const limits = createRateLimits(services.config.rateLimitPerMinute)
  app.addHook('onClose', async () => limits.close())

  // Routes that accept points are slowed down by back-pressure instead, except for strangers.
  const isLimited = (request: FastifyRequest) => request.routeOptions.config.role !== 'ingest'

  app.addHook('onRequest', async request => {
    const { access, linkToken, apart = '' } = request.routeOptions.config
    const limited = isLimited(request)
    if (!access || access === 'public') {
      if (limited) limits.countStranger(request.ip)
      return
    }
    if (linkToken && request.headers.authorization === undefined) return await enterByLink(request, apart)
    const known = callers.find(request.headers.authorization)
    if (known) await enterFlight(request, known.userId + apart)
    try {
      await authenticate(request)
    } catch (error) {
      if (error instanceof RequestError && error.code === 'unauthorized') limits.countStranger(request.ip)
      throw error
    }
    services.connections.know(request.raw.socket)
    if (request.caller) await enterFlight(request, request.caller.userId + apart)
    if (limited && request.caller) limits.countCaller(request.caller.userId + apart)
    authorize(request)
  })

  app.addHook('preValidation', async request => {
    const { access } = request.routeOptions.config
    if (!access || access === 'public' || request.body === undefined || request.link) return
    await authenticate(request)
    authorize(request)
  })

  /** Throws 401 if the token belongs to no open tracking link. Many people may hold a link, so it is counted by address. */
  async function enterByLink(request: FastifyRequest, apart: string): Promise<void> {
    const { token } = request.query as { token?: unknown }
    limits.checkStrangers(request.ip)
    request.link = typeof token === 'string' ? await findLink(token) : null
    if (!request.link) {
      limits.countStranger(request.ip)
      throw new RequestError(
        'unauthorized',
        'A bearer token, or the token of an open tracking link, is required.',
      )
    }
    const holder = `${request.link.id} ${request.ip}${apart}`
    await enterFlight(request, holder)
    limits.countCaller(holder)
  }

  /** Hashes of keys that were valid; the newest last. */
  const known = new Set<string>()

  /**
   * After too many wrong keys from an address, keys that this process has not seen yet are rejected without a query.
   */
  async function findKnown<Found>(
    find: (hash: string) => Promise<Found | null>,
    hash: string,
    address: string,
  ): Promise<Found | null> {
    if (!known.has(hash)) limits.checkStrangers(address)
    const found = await find(hash)
    known.delete(hash)
    if (found) remember(hash)
    return found
  }

  const findDeviceOf = (key: string, address: string) =>
    authenticateKey(hash => findKnown(findDevice, hash, address), key)

  const findCaller = (token: string, address: string) =>
    authenticateToken(
      { ...bearers, ofKey: digest => findKnown(bearers.ofKey, digest, address) },
      services.tokens,
      token,
    )

  function remember(hash: string): void {
    known.delete(hash)
    known.add(hash)
    for (const oldest of known) {
      if (known.size <= MAX_KNOWN_KEYS) break
      known.delete(oldest)
    }
  }

  /**
   * Sets the connection whose key the request holds. Throws 401 if it holds nothing that is valid, and 404 if it is
   * another caller's: it learns nothing about the connection.
   */
  async function enterConnection(request: FastifyRequest): Promise<void> {
    const { id } = request.params as { id: string }
    const found = isUuid(id) ? await findTrackers(id.toLowerCase()) : null
    const connection = found?.way === 'http' ? found : null
    const keys = readConnectionKeys(request, connection?.headerName)
    if (!keys.some(key => known.has(hashKey(key).toString('hex')))) limits.checkStrangers(request.ip)
    for (const key of keys) {
      request.trackers = await findByKey(async () => connection, id, key)
      if (!request.trackers) continue
      return remember(hashKey(key).toString('hex'))
    }
    const token = keys[0] ?? ''
    const isCaller = isDeviceKey(token)
      ? await findDeviceOf(token, request.ip)
      : await findCaller(token, request.ip)
    if (isCaller) throw notFound('connection')
    throw new RequestError('unauthorized', 'The key of the connection is required.')
  }

  /** Sets the caller or publisher. Throws 401 if there is none. */
  async function authenticate(request: FastifyRequest): Promise<void> {
    if (request.routeOptions.config.connectionKey) return await enterConnection(request)
    const isApp = request.routeOptions.config.access === 'device'
    const token = isApp ? readAppKey(request) : readBearer(request)
    if (!token)
      throw new RequestError('unauthorized', `A ${isApp ? 'device key' : 'bearer token'} is required.`)
    if (isDeviceKey(token)) {
      const device = await findDeviceOf(token, request.ip)
      if (!device) {
        services.traces.refuse(readName(request), hashKey(token), request.ip)
        throw new RequestError('unauthorized', 'The device key is not valid.')
      }
      request.publisher = device
      services.lastSeen.see(device)
      return
    }
    const caller = await findCaller(token, request.ip)
    if (!caller) {
      if (isApp) services.traces.refuse(readName(request), hashKey(token), request.ip)
      throw new RequestError('unauthorized', 'The token is expired, revoked or not valid.')
    }
    callers.remember(token, caller)
    request.caller = caller
    request.publisher = toPublisher(caller)
    services.lastSeen.see(request.publisher, request.ip)
  }
}

/** A route without a permission is about the session or the account of a person, unless it says otherwise. */
const opensToApiKeys = ({ access, apiKey }: FastifyContextConfig = {}): boolean =>
  access === 'public' || access === 'device' || (apiKey ?? access !== 'session')

const describeApiKeys = (config: FastifyContextConfig = {}) => {
  if (!opensToApiKeys(config)) return { 'x-api-key': 'refused' }
  return config.access && takesEndlessKeys(config.access) ? { 'x-api-key': 'endless' } : {}
}

/** Throws 403 if the caller lacks the access that the route requires. */
function authorize({ caller, trackers, routeOptions }: FastifyRequest): void {
  const { access, deviceKey, denial } = routeOptions.config
  if (trackers) return
  if (!caller) {
    if (!deviceKey) throw forbidden('A device key opens only the routes that accept points.')
    return
  }
  if (caller.apiKey && !opensToApiKeys(routeOptions.config)) {
    throw forbidden('An API key does not open this: it belongs to a person who is signed in.')
  }
  if (caller.lacksSecondFactor && !routeOptions.config.withoutSecondFactor) throw lacksSecondFactor()
  if (access === 'device') throw forbidden('Apps sign in here with the key of a device.')
  if (!access || access === 'public' || access === 'session') return
  if (!scopeOf(caller.permissionDetails, access)) {
    throw lacksPermission(access, denial)
  }
  checkEndless(caller, access)
}

/** The failures that follow from a route's access, body and query; the route itself names further ones. */
function usualFailures({ url, method, config, schema }: RouteOptions): Record<number, typeof failure> {
  const access = config?.access
  const statuses: FailureStatus[] = [429, 500, 503]
  if (access !== 'public') statuses.push(401)
  // A route open to any signed-in user and to devices refuses nobody who is authenticated.
  if (access !== 'public' && !(access === 'session' && config?.deviceKey)) statuses.push(403)
  if (schema?.body || schema?.querystring) statuses.push(400)
  if (schema?.body) statuses.push(408, 413, 415)
  if (url.includes(':')) statuses.push(404)
  if (method === 'POST' && config?.idempotencyKey !== false) statuses.push(409)
  return failures(...statuses)
}

/** The token of the Authorization header. Browsers' WebSockets send it after `bearer` in the subprotocols. */
function readBearer(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization
  if (header !== undefined) return readToken(header)
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return undefined
  const protocols = request.headers['sec-websocket-protocol']?.split(',').map(protocol => protocol.trim())
  return protocols?.[0] === 'bearer' ? protocols[1] : undefined
}

/**
 * The key of an app's device: a bearer token, the password of Basic under any name, or the parameter `token` for an app
 * where only an address can be entered.
 */
function readAppKey(request: FastifyRequest): string | undefined {
  const { token } = request.query as { token?: unknown }
  if (request.headers.authorization === undefined) return typeof token === 'string' ? token : undefined
  return readPassword(request)
}

/** Which device an app says that it is: the user name of Basic, or the identifier in an address. */
function readName(request: FastifyRequest): string | null {
  const basic = /^Basic +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (basic !== undefined) return Buffer.from(basic, 'base64').toString('utf8').split(':', 1)[0] ?? null
  const { id, deviceid } = request.query as { id?: unknown; deviceid?: unknown }
  return [id, deviceid].find(one => typeof one === 'string') ?? null
}

/** The texts of a request that may be the key of a connection, which may name a header of its own. */
function readConnectionKeys(request: FastifyRequest, headerName: string | null | undefined): string[] {
  const { key } = request.query as { key?: unknown }
  const given = headerName ? request.headers[headerName.toLowerCase()] : undefined
  return [readPassword(request), key, given].filter(one => typeof one === 'string')
}

/** The bearer token, or the password of Basic under any name. */
function readPassword(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization ?? ''
  const basic = /^Basic +(\S+)$/i.exec(header)?.[1]
  if (basic === undefined) return readBearer(request)
  return /^[^:]*:(.*)$/s.exec(Buffer.from(basic, 'base64').toString('utf8'))?.[1]
}
