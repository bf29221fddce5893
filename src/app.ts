import websocket from '@fastify/websocket'
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { newId } from '../db/client.ts'
import { auditRoutes } from './audit/routes.ts'
import { accountRoutes } from './auth/account.ts'
import { registerRoutes } from './auth/register.ts'
import { authRoutes } from './auth/routes.ts'
import { dataRoutes } from './data/routes.ts'
import { dataWriteRoutes } from './data/writes.ts'
import { dataTypeRoutes } from './data-types/routes.ts'
import { deviceRoutes } from './devices/routes.ts'
import { flowRoutes } from './flows/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { hubRoutes } from './hubs/routes.ts'
import { liveRoutes } from './live/routes.ts'
import { locationHistoryRoutes } from './location-history/routes.ts'
import { MQTT_SUBPROTOCOLS, mqttRoutes } from './mqtt/routes.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { addAuthentication } from './plugins/authentication.ts'
import { addErrorHandling } from './plugins/errors.ts'
import { addIdempotency } from './plugins/idempotency.ts'
import { addOpenApi, documentRoutes, gatherRoutes } from './plugins/openapi.ts'
import { addProcessRoles } from './plugins/process-roles.ts'
import { addTextCheck } from './plugins/text.ts'
import { roleRoutes } from './roles/routes.ts'
import type { App, Services } from './services.ts'
import { teamRoutes } from './teams/routes.ts'
import { inviteRoutes } from './users/invite.ts'
import { userRejectionRoutes } from './users/rejections.ts'
import { userRoutes } from './users/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

/** A live subscription names its subjects; 5,000 identifiers are 200 KiB. */
const WEBSOCKET_MESSAGE_BYTES = 256 * 1024

/** The HTTP server: the table of contents of everything that answers. */
export async function createApp(services: Services, logger: FastifyBaseLogger): Promise<App> {
  const app: App = Fastify({
    loggerInstance: logger,
    // A line a request is for whoever looks for a fault; what fails is logged in any case.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newId(),
    // Without any, the address is the connection's own.
    trustProxy: services.config.trustedProxies.length > 0 && services.config.trustedProxies,
    routerOptions: { ignoreTrailingSlash: true },
    forceCloseConnections: true,
    // Bodies are never merged into other objects, and looking for __proto__ in 4 MiB of points takes a tenth of the time.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
  }).withTypeProvider<ZodTypeProvider>()
  // Plain text is no media type of ours: 415, rather than a body that is not valid.
  app.removeContentTypeParser('text/plain')
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  addErrorHandling(app)

  await app.register(websocket, {
    options: {
      maxPayload: WEBSOCKET_MESSAGE_BYTES,
      // Compression costs ten times the CPU of sending.
      perMessageDeflate: false,
      handleProtocols: offered => ['bearer', ...MQTT_SUBPROTOCOLS].find(name => offered.has(name)) ?? false,
    },
  })
  await gatherRoutes(app)
  await healthRoutes(app, services)
  mqttRoutes(app, services)
  await app.register(
    async scope => {
      const api = scope.withTypeProvider<ZodTypeProvider>()
      await addOpenApi(api)
      addProcessRoles(api, services)
      addAuthentication(api, services)
      addTextCheck(api)
      addIdempotency(api, services)
      documentRoutes(api)
      authRoutes(api, services)
      registerRoutes(api, services)
      accountRoutes(api, services)
      organizationRoutes(api, services)
      roleRoutes(api, services)
      hubRoutes(api, services)
      dataTypeRoutes(api, services)
      dataRoutes(api, services)
      dataWriteRoutes(api, services)
      webhookRoutes(api, services)
      flowRoutes(api, services)
      userRoutes(api, services)
      userRejectionRoutes(api, services)
      inviteRoutes(api, services)
      teamRoutes(api, services)
      auditRoutes(api, services)
      deviceRoutes(api, services)
      locationHistoryRoutes(api, services)
      liveRoutes(api, services)
    },
    { prefix: '/api/v3' },
  )
  await app.ready()
  return app
}
