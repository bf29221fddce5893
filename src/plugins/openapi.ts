import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { App } from '../services.ts'

const DESCRIPTION = `Field operations with live tracking.

Sign in with \`POST /auth/login\` and send the token as \`Authorization: Bearer <token>\`. Identifiers are strings in
\`_id\`, times are ISO 8601 in UTC, units are metres, metres per second and degrees. Every path answers with and
without a trailing slash. A failure is \`{ status: false, message, requestId }\`, with \`errors\` in a 400.

**A point that was acknowledged is in the history, exactly once.**`

/** The OpenAPI document, made of the schemas that validate, at openapi.json and readable at docs. */
export async function addOpenApi(app: App): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Fieldline', version: '3.0.0', description: DESCRIPTION },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token, or a device key' },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  })
  // The page names its files by absolute addresses, and knows nothing of the prefix that this is registered under.
  await app.register(swaggerUi, { routePrefix: '/docs', indexPrefix: app.prefix })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}
