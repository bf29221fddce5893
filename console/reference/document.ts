/** The parts of the OpenAPI document that this page reads. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: { [name: string]: Schema }
  required?: string[]
  items?: Schema
  prefixItems?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  format?: string
  default?: unknown
  examples?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  additionalProperties?: boolean | Schema
}
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  style?: string
  schema: Schema
  example?: unknown
}
interface Media {
  schema?: Schema
  example?: unknown
}
interface Described {
  operationId: string
  tags: string[]
  summary: string
  description: string
  'x-permission'?: string
  parameters?: Parameter[]
  requestBody?: { content: { [type: string]: Media } }
  responses: { [status: string]: Answer }
}
interface Answer {
  $ref?: string
  description?: string
  content?: { [type: string]: Media }
}
export interface Document {
  info: { title: string; version: string; description: string }
  tags: { name: string; description: string }[]
  paths: { [path: string]: { [method: string]: Described } }
  webhooks: { [event: string]: { post: Described } }
  components: { schemas: { [name: string]: Schema }; responses: { [name: string]: Answer } }
}

export interface Body extends Media {
  type: string
}
export interface Operation {
  id: string
  group: string
  /** `GET`; for an event of webhooks `EVENT`. */
  method: string
  path: string
  summary: string
  description: string
  /** The permission that the caller needs; null for an event. */
  permission: string | null
  parameters: Parameter[]
  /** The first content type of the request body. */
  body: Body | null
  answers: { status: string; description: string; types: string[]; body: Body | null }[]
  isSocket: boolean
}
export interface Group {
  name: string
  description: string
  operations: Operation[]
}

const firstOf = (content: { [type: string]: Media } | undefined): Body | null => {
  const [entry] = Object.entries(content ?? {})
  return entry ? { type: entry[0], ...entry[1] } : null
}

function toOperation(
  method: string,
  path: string,
  described: Described,
  shared: { [name: string]: Answer },
): Operation {
  const { operationId: id, summary, description, parameters = [], requestBody, responses } = described
  return {
    id,
    group: described.tags[0] ?? '',
    method: method.toUpperCase(),
    path,
    summary,
    description,
    permission: described['x-permission'] ?? null,
    parameters,
    body: firstOf(requestBody?.content),
    answers: Object.entries(responses).map(([status, answer]) => {
      const { description = '', content } = shared[answer.$ref?.split('/').at(-1) ?? ''] ?? answer
      return { status, description, types: Object.keys(content ?? {}), body: firstOf(content) }
    }),
    isSocket: '101' in responses,
  }
}

/** All operations and events, in the order of the document's tags. */
export function listGroups({ tags, paths, webhooks, components }: Document): Group[] {
  const { responses } = components
  const operations = [
    ...Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => toOperation(method, path, described, responses)),
    ),
    ...Object.entries(webhooks).map(([name, { post }]) => toOperation('event', name, post, responses)),
  ]
  return tags
    .map(({ name, description }) => ({
      name,
      description,
      operations: operations.filter(({ group }) => group === name),
    }))
    .filter(group => group.operations.length > 0)
}

/** The operations whose texts contain every word of `query`. */
export function searchGroups(groups: readonly Group[], query: string): Group[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return [...groups]
  const says = ({ id, group, method, path, summary, description, permission }: Operation) => {
    const text = [id, group, method, path, summary, description, permission].join(' ').toLowerCase()
    return words.every(word => text.includes(word))
  }
  return groups
    .map(group => ({ ...group, operations: group.operations.filter(says) }))
    .filter(group => group.operations.length > 0)
}

export function resolveSchema(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return (name && document.components.schemas[name]) || schema
}
