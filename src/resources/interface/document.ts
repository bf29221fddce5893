import swagger from '@fastify/swagger'
import type { FastifyContextConfig } from 'fastify'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { codeOfStatus } from '../../http/error-codes.ts'
import { FORM } from '../../http/operation.ts'
import { checkBody } from '../../http/plugins/strict-inputs.ts'
import { mayBeMissing } from '../../http/validation.ts'
import type { App } from '../../services.ts'
import { capitalize, type Media, shareFailures, shareSchemas, tidy } from './components.ts'
import { describeEvents } from './events.ts'
import { exampleOf, type JsonSchema } from './examples.ts'

const DESCRIPTION = `Field operations with live tracking.

Sign in with \`POST /auth/login\` and send the token as \`Authorization: Bearer <token>\`; a program sends an API key instead. Identifiers are strings in
\`_id\`, times are ISO 8601 in UTC, units are metres, metres per second and degrees. Every path answers with and
without a trailing slash. A failure is \`{ status: false, message, requestId }\`, with \`errors\` in a 400.

Each operation names in \`x-permission\` what it needs: a permission that the role has to carry, \`session\` (any signed-in
user, for what is its own), \`device\` (a device's key) or \`public\`. \`x-api-key: refused\` is what API keys do not open,
\`x-api-key: endless\` what a key that is to end does not open: it lets somebody in, decides what others may do, or
has records sent elsewhere.

A POST with an \`Idempotency-Key\` is carried out once, and its answer given again for 24 hours (409 where it was too large to be stored): per account and organization,
and where nobody is signed in per body, of which no failure is stored. Where an answer holds a secret (\`x-answers-secret\`), an API
key's belong to its present secret alone. Signing in, looking at an invitation, and what a device's key sends, is carried out every time.

**A point that was acknowledged is in the history, exactly once.**`

interface Operation {
  operationId?: string
  tags?: string[]
  summary?: string
  description?: string
  security?: object[]
  'x-permission'?: string
  /** Marks routes, and is removed from the document. */
  'x-optional-body'?: true
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: { [status: string]: { description?: string; content?: Content; headers?: object } }
}
interface Parameter {
  name: string
  in: string
  description?: string
  schema?: JsonSchema
  example?: unknown
}
type Content = { [mediaType: string]: Media }
interface Document {
  paths: { [path: string]: { [method: string]: Operation } }
  components: { schemas: { [name: string]: JsonSchema } }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Any text of up to 255 characters; the same one for the same request sent again',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  example: '7f1c2a34-1f0e-4d6b-9f57-1f2f0c3b5a11',
}

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds until it is worth trying again', schema: { type: 'integer' } },
}

/** Example messages of failures; only a 400 has `errors`. */
const SENTENCES: { [status: string]: string } = {
  400: '"name" is not valid: this must not be empty.',
  401: 'The token is expired, revoked or not valid.',
  403: 'Your role lacks the permission.',
  404: 'There is no such record.',
  409: 'There is one with this name already.',
  413: 'The body is larger than what is accepted here.',
  415: 'This media type is not accepted here: send application/json.',
  422: 'The file cannot be imported.',
  429: 'Too many requests. Wait before you send more.',
  500: 'Something went wrong on our side.',
  503: 'The service cannot reach its database. Send the request again.',
}

/** The tags, in the order in which somebody who connects a system needs them. */
const TAGS = [
  { name: 'Accounts', description: 'Sign in, and choose the organization' },
  { name: 'Devices', description: 'Devices and apps that send positions, and their keys' },
  { name: 'Location history', description: 'Points in, and where subjects were' },
  { name: 'Apps', description: 'Points as apps and trackers send them, and MQTT' },
  { name: 'Live', description: 'Positions and changes as they happen' },
  { name: 'Tracker profiles', description: 'How messages of trackers with a format of their own are read' },
  { name: 'Connections', description: 'Ways in for many trackers with formats of their own' },
  { name: 'Geofences', description: 'Areas, and who crossed them' },
  { name: 'Tracking links', description: 'Where one subject is, for somebody outside' },
  { name: 'Maps', description: 'Streets and places' },
  { name: 'Vehicles', description: 'Vehicles, their drivers and devices' },
  { name: 'Tasks', description: 'Work to do, with its status and history' },
  { name: 'Task schedules', description: 'Tasks that repeat' },
  { name: 'Flows', description: 'The steps that a task goes through' },
  { name: 'Teams', description: 'Who works together' },
  { name: 'Hubs', description: 'Where work begins' },
  { name: 'Users', description: 'Who works here' },
  { name: 'Roles', description: 'The permissions of users' },
  { name: 'API keys', description: 'Keys for programs' },
  { name: 'Organizations', description: 'The organization and its settings' },
  { name: 'Data types', description: 'Which fields records have' },
  { name: 'Data sources', description: 'The records' },
  { name: 'Imports', description: 'Records from files' },
  { name: 'Exports', description: 'Files of records and tasks' },
  { name: 'Webhooks', description: 'Events that are sent to other systems' },
  { name: 'Events', description: 'The requests that a webhook sends to another system' },
  { name: 'Audit log', description: 'The changes and who made them' },
  { name: 'Interface', description: 'This document' },
  { name: 'Process', description: 'Whether it lives and works' },
]

/**
 * Collects every route that is added from now on, and the events: `app.swagger()` is the document when the app is
 * ready. `npm run build` writes the document once (console/build), so that no server creates it at its start. The build
 * fails for a route without a description, or with a body that takes unknown keys.
 */
export async function gatherRoutes(app: App): Promise<void> {
  const webhooks: { [event: string]: object } = describeEvents({ security: [] })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Fieldline',
        version: '3.0.0',
        description: DESCRIPTION,
        contact: { name: 'Who runs this installation' },
        license: { name: 'Proprietary', identifier: 'LicenseRef-Fieldline' },
      },
      servers: [{ url: '/' }],
      tags: TAGS,
      webhooks,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token, an API key, or a device key' },
          password: { type: 'http', scheme: 'basic', description: 'A device key, under any name' },
          token: { type: 'apiKey', in: 'query', name: 'token', description: 'A device key' },
          link: { type: 'apiKey', in: 'query', name: 'token', description: 'The token of a tracking link' },
          key: { type: 'apiKey', in: 'query', name: 'key', description: 'The key of a connection' },
        },
      },
    },
    transform: describeUploads,
    transformObject: jsonSchemaTransformObject,
  })
  // @fastify/websocket hides its routes; ours are described like any other.
  app.addHook('onRoute', route => {
    if ((route as { websocket?: boolean }).websocket) route.schema = { ...route.schema, hide: false }
  })
  app.addHook('onRoute', checkBody)
  // The plugin requires every body.
  app.addHook('onRoute', route => {
    if (mayBeMissing(route.schema?.body))
      route.schema = { ...route.schema, ...({ 'x-optional-body': true } as object) }
  })
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema?.hide || method === 'HEAD') return
    if (!schema?.summary || !schema.description) throw new Error(`${method} ${url} is not described`)
    const unknown = schema.tags?.find(tag => !TAGS.some(({ name }) => name === tag))
    if (unknown || !schema.tags) throw new Error(`${method} ${url} has a tag that is in no order: ${unknown}`)
  })
  app.addHook('onReady', async () => complete(app.swagger() as unknown as Document))
}

/** The handler reads a file with its fields, so their schema is not that of the route's body. */
const describeUploads: typeof jsonSchemaTransform = input => {
  const upload = (input.route.config as FastifyContextConfig | undefined)?.upload
  if (!upload) return jsonSchemaTransform(input)
  const body = upload.fields.extend({
    file: z
      .string()
      .meta({ format: 'binary', examples: ['name;phone'] })
      .describe('The file'),
  })
  return jsonSchemaTransform({
    ...input,
    schema: { ...input.schema, body, consumes: ['multipart/form-data'] },
  })
}

/** Adds what follows from schemas and conventions, so that no route has to declare it: examples and headers. */
function complete(document: Document): void {
  const { paths, components } = document
  const { schemas } = components
  const exemplify = (content: Content | undefined, side: 'request' | 'answer') => {
    for (const media of Object.values(content ?? {}))
      if (media.schema) media.example ??= exampleOf(media.schema, schemas, side)
  }
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      operation.operationId = nameOperation(method, path)
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in === 'query' && parameter.schema?.type === 'object') {
          Object.assign(parameter, { style: 'deepObject', explode: true })
        }
        if (!parameter.schema) continue
        if (parameter.in === 'path') parameter.example ??= exampleOf(parameter.schema, schemas, 'answer')
        parameter.schema = tidy(parameter.schema)
        // A text without a format, like the identifiers in answers: a malformed identifier answers 404.
        if (parameter.in === 'path') delete parameter.schema.format
      }
      // The key may have been used for another request, which is 409.
      if (method === 'post' && operation.responses[409] && path.startsWith('/api/v3')) {
        operation.parameters = [...(operation.parameters ?? []), IDEMPOTENCY_KEY]
      }
      const content = operation.requestBody?.content
      if (operation.requestBody && operation['x-optional-body']) operation.requestBody.required = false
      delete operation['x-optional-body']
      if (content?.[FORM]) content[FORM] = formOf(operation.parameters ?? [])
      exemplify(content, 'request')
      for (const [status, response] of Object.entries(operation.responses)) {
        const json = response.content?.['application/json']
        if (json?.schema?.$ref === '#/components/schemas/Failure') json.example = failureExample(status)
        exemplify(response.content, 'answer')
        if (response.description === 'Default Response')
          response.description = describedBy(json?.schema, schemas)
        // Over HTTP/2 and HTTP/3, which a proxy may use, a WebSocket opens with 200 (RFC 8441, RFC 9220).
        if (status === '101')
          operation.responses[200] ??= { description: `${response.description}, over HTTP/2` }
        if (status === '429' || status === '503') response.headers = RETRY_AFTER
      }
    }
  }
  shareSchemas(document)
  shareFailures(document)
}

/** A form has the fields that may also come in the address. */
function formOf(parameters: readonly Parameter[]): Media {
  const fields = parameters.filter(parameter => parameter.in === 'query')
  const properties = fields.map(({ name, description, schema }) => [name, { ...schema, description }])
  const examples = fields.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]]))
  return {
    schema: { type: 'object', properties: Object.fromEntries(properties), additionalProperties: true },
    example: Object.fromEntries(examples),
  }
}

/** Fastify does not read the description of a named schema. */
function describedBy(schema: JsonSchema | undefined, schemas: { [name: string]: JsonSchema }): string {
  return schemas[schema?.$ref?.replace('#/components/schemas/', '') ?? '']?.description ?? 'Done'
}

/** Composed of method and path, so that it is self-explanatory: `GET /hub/{id}` is `getHubById`. */
function nameOperation(method: string, path: string): string {
  const words = path.replace('/api/v3', '').split(/[^A-Za-z0-9{}]+/)
  const name = words.map(word => {
    const parameter = /^\{(.+)\}$/.exec(word)?.[1]
    return parameter ? `By${capitalize(parameter)}` : capitalize(word)
  })
  return method + name.join('')
}

function failureExample(status: string): object {
  const message = SENTENCES[status] ?? 'The request failed.'
  const requestId = '019aa3c1-0a2b-7c3d-8e4f-5a6b7c8d9e0f'
  const errors = [{ path: 'name', code: 'too-short', message: 'This must not be empty.' }]
  const code = codeOfStatus(Number(status))
  return { status: false, code, message, requestId, ...(status === '400' ? { errors } : {}) }
}
