import cors from '@fastify/cors'
import type { App, Services } from '../../services.ts'

/** A day: the permissions of these origins change only with a deployment. Browsers keep it for two hours. */
const PREFLIGHT_S = 24 * 3600

/** Lets pages of the origins in `CORS_ORIGINS` call. The token is in a header, so no cookie is at stake. */
export async function addCors(app: App, { config }: Services): Promise<void> {
  if (config.corsOrigins.length === 0) return
  await app.register(cors, {
    origin: config.corsOrigins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: ['Authorization', 'Content-Type', 'Content-Encoding', 'Idempotency-Key'],
    exposedHeaders: [
      'Allow',
      'Content-Disposition',
      'Idempotency-Replayed',
      'Retry-After',
      'WWW-Authenticate',
    ],
    maxAge: PREFLIGHT_S,
    strictPreflight: false,
  })
}
