import { ok } from '../../http/envelope.ts'
import type { App, Services } from '../../services.ts'
import { signInMethods } from './methods.ts'
import * as operations from './schemas.ts'

/** How people may sign in to this server, which the sign-in page shows. */
export function signInMethodRoutes(app: App, { config }: Services): void {
  app.get('/auth/methods', operations.getSignInMethods, async () => ok(signInMethods(config)))
}
