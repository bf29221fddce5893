import type { Role } from '../../config.ts'
import type { App, Services } from '../../services.ts'
import { RequestError } from '../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The role of the process that serves the route; api where it says nothing. */
    role?: Role
  }
}

/**
 * Every process describes all routes, so that the interface's document is the same on each, and serves those of its
 * own roles. What stands before the processes sends each route where its role is (docs/kafka.md).
 */
export function addProcessRoles(app: App, { config }: Services): void {
  app.addHook('onRequest', async request => {
    const { role = 'api' } = request.routeOptions.config
    if (config.roles.has(role)) return
    throw new RequestError('not-found', `This process does not serve this address: its ROLES lack ${role}.`)
  })
}
