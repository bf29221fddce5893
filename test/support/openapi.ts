import type { Server } from './server.ts'

export interface Media {
  schema?: JsonSchema
  example?: unknown
}

export interface JsonSchema {
  $ref?: string
  description?: string
  type?: string | string[]
  properties?: { [name: string]: JsonSchema }
  additionalProperties?: boolean | JsonSchema
  required?: string[]
  items?: JsonSchema
  prefixItems?: JsonSchema[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
}

export interface OperationSpec {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  'x-permission'?: string
  'x-api-key'?: 'refused' | 'endless'
  'x-answers-secret'?: true
  security?: object[]
  parameters?: { name: string; in: string; schema?: JsonSchema; example?: unknown; style?: string }[]
  requestBody?: { required?: boolean; content: { [type: string]: Media } }
  responses: { [status: string]: { $ref?: string; content?: { [type: string]: Media } } }
}

export interface OpenApi {
  openapi: string
  tags: { name: string }[]
  paths: { [path: string]: { [method: string]: OperationSpec } }
  webhooks: { [event: string]: { post: OperationSpec } }
  components: {
    schemas: { [name: string]: JsonSchema }
    responses: { [name: string]: OperationSpec['responses'][string] }
  }
}

export interface Operation {
  /** Method and path, for messages. */
  name: string
  method: string
  path: string
  spec: OperationSpec
}

/** The document, in which each operation has its answers resolved, including shared ones. */
export async function readDocument(server: Pick<Server, 'url'>): Promise<OpenApi> {
  const document = await readRawDocument(server)
  for (const { spec } of listOperations(document)) {
    for (const [status, { $ref }] of Object.entries(spec.responses)) {
      const shared = document.components.responses[$ref?.split('/').at(-1) ?? '']
      if (shared) spec.responses[status] = shared
    }
  }
  return document
}

/** The unchanged document. */
export async function readRawDocument(server: Pick<Server, 'url'>): Promise<OpenApi> {
  const answer = await fetch(`${server.url}/api/v3/openapi.json`)
  return (await answer.json()) as OpenApi
}

/** The schema that a reference stands for, or the schema itself. */
export function resolveSchema({ components }: OpenApi, schema: JsonSchema | undefined): JsonSchema {
  return components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? schema ?? {}
}

export function listOperations(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, spec]) => ({ name: `${method} ${path}`, method, path, spec })),
  )
}
