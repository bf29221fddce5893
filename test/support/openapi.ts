import type { Server } from './server.ts'

export interface Media {
  schema?: JsonSchema
  example?: unknown
}

export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  properties?: { [name: string]: JsonSchema }
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
}

export interface OperationSpec {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  'x-permission'?: string
  security?: object[]
  parameters?: { name: string; in: string; schema?: JsonSchema; example?: unknown; style?: string }[]
  requestBody?: { content: { [type: string]: Media } }
  responses: { [status: string]: { content?: { [type: string]: Media } } }
}

export interface OpenApi {
  openapi: string
  paths: { [path: string]: { [method: string]: OperationSpec } }
  components: { schemas: { [name: string]: JsonSchema } }
}

export interface Operation {
  /** Method and path, for messages. */
  name: string
  method: string
  path: string
  spec: OperationSpec
}

export async function readDocument(server: Pick<Server, 'url'>): Promise<OpenApi> {
  const answer = await fetch(`${server.url}/api/v3/openapi.json`)
  return (await answer.json()) as OpenApi
}

export function listOperations(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, spec]) => ({ name: `${method} ${path}`, method, path, spec })),
  )
}
