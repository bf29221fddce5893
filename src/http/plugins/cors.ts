import cors from '@fastify/cors'
import type { App, Services } from '../../services.ts'

/** A day: what pages of these origins may do changes with a deployment alone. Browsers keep it for two hours. */
const PREFLIGHT_S = 24 * 3600

/** Lets pages of other origins call, those of `CORS_ORIGINS`. The token is in a header, so no cookie is at stake. */
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
