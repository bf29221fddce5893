import type { Role } from '../../config.ts'
import type { App, Services } from '../../services.ts'
import { RequestError } from '../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The role of the process that serves the route; api by default. */
    role?: Role
  }
}

/**
 * Every process describes all routes, so that each one has the same OpenAPI document, but serves only those of its
 * roles. A proxy in front sends each route to a process of its role (docs/kafka.md).
 */
export function addProcessRoles(app: App, { config }: Services): void {
  app.addHook('onRequest', async request => {
    const { role = 'api' } = request.routeOptions.config
    if (config.roles.has(role)) return
    throw new RequestError('not-found', `This process does not serve this address: its ROLES lack ${role}.`)
  })
}
