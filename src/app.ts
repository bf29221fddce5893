import { createServer } from 'node:http'
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { newId } from '../db/client.ts'
import { createKnownCallers } from './http/known-callers.ts'
import { ANSWER_HEADERS, addAnswerHeaders } from './http/plugins/answer-headers.ts'
import { addArrivalTime, UPLOAD_WITHIN_MS } from './http/plugins/arrival.ts'
import { addAuthentication } from './http/plugins/authentication.ts'
import { addBodies, addBodyTurns } from './http/plugins/bodies.ts'
import { addBodyBudget } from './http/plugins/body-budget.ts'
import { countConnections } from './http/plugins/connections.ts'
import { addCors } from './http/plugins/cors.ts'
import { addDemand } from './http/plugins/demand.ts'
import { createHttpDraining } from './http/plugins/draining.ts'
import { addErrorHandling, answerError } from './http/plugins/errors.ts'
import { addIdempotency } from './http/plugins/idempotency.ts'
import { addInFlight } from './http/plugins/in-flight.ts'
import { addMethods } from './http/plugins/methods.ts'
import { pace } from './http/plugins/pipelining.ts'
import { addProcessRoles } from './http/plugins/process-roles.ts'
import { answerClientError, answerConnect, answerExpectation } from './http/plugins/raw-errors.ts'
import { addRequestMetrics } from './http/plugins/request-metrics.ts'
import { addStrictInputs, parseQuery } from './http/plugins/strict-inputs.ts'
import { addTextCheck } from './http/plugins/text.ts'
import { cutUnread } from './http/plugins/unread-answers.ts'
import { addUnreadBodies, drain } from './http/plugins/unread-bodies.ts'
import { addUpgrades } from './http/plugins/upgrades.ts'
import { addUploads } from './http/plugins/uploads.ts'
import { useOwnSentences, validatorCompiler } from './http/validation.ts'
import { apiKeyRoutes } from './resources/api-keys/routes.ts'
import { auditRoutes } from './resources/audit-log/routes.ts'
import { authRoutes } from './resources/auth/routes.ts'
import { basemapRoutes } from './resources/basemap/routes.ts'
import { commandRoutes } from './resources/commands/routes.ts'
import { connectionRoutes } from './resources/connections/routes.ts'
import { addMissingPage, consoleRoutes, openConsole, sendMissingPage } from './resources/console/routes.ts'
import { dataRoutes } from './resources/data/routes.ts'
import { dataTypeRoutes } from './resources/data-types/routes.ts'
import { deviceRoutes } from './resources/devices/routes.ts'
import { exportRoutes } from './resources/exports/routes.ts'
import { flowRoutes } from './resources/flows/routes.ts'
import { forgottenPasswordRoutes } from './resources/forgotten-passwords/routes.ts'
import { geofenceEventRoutes } from './resources/geofence-events/routes.ts'
import { geofenceRoutes } from './resources/geofences/routes.ts'
import { healthRoutes } from './resources/health/routes.ts'
import { healthHistoryRoutes } from './resources/health-history/routes.ts'
import { hubRoutes } from './resources/hubs/routes.ts'
import { importConfigRoutes } from './resources/import-configs/routes.ts'
import { importRoutes } from './resources/imports/routes.ts'
import { ingestRoutes } from './resources/ingest/routes.ts'
import { interfaceRoutes } from './resources/interface/routes.ts'
import { invitationRoutes } from './resources/invitations/routes.ts'
import { liveRoutes } from './resources/live/routes.ts'
import { locationHistoryRoutes } from './resources/location-history/routes.ts'
import { mqttRoutes } from './resources/mqtt/routes.ts'
import { organizationRoutes } from './resources/organizations/routes.ts'
import { placeRoutes } from './resources/places/routes.ts'
import { registrationRoutes } from './resources/registration/routes.ts'
import { rejectionRoutes } from './resources/rejections/routes.ts'
import { roleRoutes } from './resources/roles/routes.ts'
import { scheduleRoutes } from './resources/schedules/routes.ts'
import { secondFactorRoutes } from './resources/second-factor/routes.ts'
import { signInMethodRoutes } from './resources/sign-in-methods/routes.ts'
import { singleSignOnRoutes } from './resources/single-sign-on/routes.ts'
import { taskRoutes } from './resources/tasks/routes.ts'
import { teamRoutes } from './resources/teams/routes.ts'
import { tileRoutes } from './resources/tiles/routes.ts'
import { trackerProfileRoutes } from './resources/tracker-profiles/routes.ts'
import { findOpenLink } from './resources/tracking-links/open-links.ts'
import { trackingLinkRoutes } from './resources/tracking-links/routes.ts'
import { userRoutes } from './resources/users/routes.ts'
import { vehicleRoutes } from './resources/vehicles/routes.ts'
import { webhookRoutes } from './resources/webhooks/routes.ts'
import type { App, Services } from './services.ts'

/** The same as for MQTT's CONNECT. 16 KiB in this time are 13 kbit/s; the body has a time of its own. */
const HEADERS_WITHIN_MS = 10_000
const MAX_HEADER_BYTES = 16 * 1024
/** Longer than balancers keep their connections; otherwise they send into one that closes. */
const IDLE_MS = 72_000

/**
 * The HTTP server: the table of contents of everything that answers. `describe` (such as `gatherRoutes`) runs before
 * the routes are added.
 */
export async function createApp(
  services: Services,
  logger: FastifyBaseLogger,
  describe?: (app: App) => Promise<void>,
): Promise<App> {
  const console = openConsole(services)
  const draining = createHttpDraining()
  const known = createKnownCallers()
  const app: App = Fastify({
    loggerInstance: logger,
    // Only failures are logged; a line for each request would serve fault-finding alone. A URL may hold a device's key,
    // so none is ever logged (test/api/apps.test.ts).
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newId(),
    // Without trusted proxies, the address is that of the connection.
    trustProxy: services.config.trustedProxies.length > 0 && services.config.trustedProxies,
    // A part of a path may be as long as the URL: an over-long identifier then answers 404.
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: MAX_HEADER_BYTES,
      querystringParser: parseQuery,
    },
    forceCloseConnections: true,
    serverFactory(listener) {
      const server = createServer(
        {
          requestTimeout: UPLOAD_WITHIN_MS,
          headersTimeout: HEADERS_WITHIN_MS,
          connectionsCheckingInterval: 1_000,
          keepAliveTimeout: IDLE_MS,
          maxHeaderSize: MAX_HEADER_BYTES,
          // A hook answers this, in the envelope.
          requireHostHeader: false,
        },
        pace(listener, ({ headers, socket }) => {
          const { userId, root } = known.find(headers.authorization) ?? {}
          return { owner: userId ?? socket.remoteAddress ?? '', root }
        }),
      )
      draining.watch(server)
      return cutUnread(server)
    },
    clientErrorHandler: answerClientError,
    // No hooks run here, so it does their work itself.
    frameworkErrors(error, request, reply) {
      reply.headers(ANSWER_HEADERS)
      if (sendMissingPage(request, reply, console, 400)) return
      void drain(request.raw).then(() => answerError(error, request, reply))
    },
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.server.on('checkExpectation', answerExpectation)
  app.server.on('connect', answerConnect)
  useOwnSentences()
  addErrorHandling(app)
  addAnswerHeaders(app)
  // Comes before everything that may fail, so that a page of another origin may read the failure.
  await addCors(app, services)
  await addUpgrades(app)
  // Comes before everything that hands a socket on.
  countConnections(app.server, services.connections)
  addMissingPage(app, console)
  addMethods(app)
  addArrivalTime(app)
  addBodies(app, services)
  addUnreadBodies(app)
  // Comes after the rest of the body is read, since it decides about the `connection` header last.
  draining.add(app)
  addRequestMetrics(app, services.metrics.registry)

  await describe?.(app)
  await healthRoutes(app, services)
  mqttRoutes(app, services)
  consoleRoutes(app, console)
  await app.register(
    async scope => {
      const api = scope.withTypeProvider<ZodTypeProvider>()
      addProcessRoles(api, services)
      addDemand(api)
      addStrictInputs(api)
      addAuthentication(api, services, {
        known,
        enterFlight: addInFlight(api),
        findLink: token => findOpenLink(services.db.system, token),
      })
      await addUploads(api)
      addBodyBudget(api)
      addBodyTurns(api, services)
      addTextCheck(api)
      addIdempotency(api, services)
      interfaceRoutes(api, console)
      authRoutes(api, services)
      signInMethodRoutes(api, services)
      forgottenPasswordRoutes(api, services)
      secondFactorRoutes(api, services)
      singleSignOnRoutes(api, services)
      registrationRoutes(api, services)
      organizationRoutes(api, services)
      roleRoutes(api, services)
      apiKeyRoutes(api, services)
      hubRoutes(api, services)
      dataTypeRoutes(api, services)
      dataRoutes(api, services)
      importConfigRoutes(api, services)
      importRoutes(api, services)
      exportRoutes(api, services)
      webhookRoutes(api, services)
      flowRoutes(api, services)
      userRoutes(api, services)
      invitationRoutes(api, services)
      teamRoutes(api, services)
      scheduleRoutes(api, services)
      auditRoutes(api, services)
      vehicleRoutes(api, services)
      taskRoutes(api, services)
      deviceRoutes(api, services)
      commandRoutes(api, services)
      connectionRoutes(api, services)
      trackerProfileRoutes(api, services)
      rejectionRoutes(api, services)
      locationHistoryRoutes(api, services)
      geofenceRoutes(api, services)
      geofenceEventRoutes(api, services)
      ingestRoutes(api, services)
      liveRoutes(api, services)
      trackingLinkRoutes(api, services)
      basemapRoutes(api, services)
      healthHistoryRoutes(api, services)
      tileRoutes(api, services)
      placeRoutes(api, services)
    },
    { prefix: '/api/v3' },
  )
  await app.ready()
  return app
}
