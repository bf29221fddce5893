/**
 * The operations of the OpenAPI document as tools for a model: named by their operationId, described by their summary and
 * description, with their parameters and body as one object.
 */
export interface Tool {
  name: string
  title: string
  description: string
  inputSchema: InputSchema
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; openWorldHint: false }
  call: Call
}

/** Where each argument belongs in a request. */
interface Call {
  method: string
  /** With `{names}` in place of parameters. */
  path: string
  query: readonly string[]
  hasBody: boolean
}

interface InputSchema {
  type: 'object'
  properties: { [name: string]: object }
  required: string[]
  additionalProperties: false
  $defs?: { [name: string]: object }
}

interface Operation {
  operationId?: string
  summary?: string
  description?: string
  'x-permission'?: string
  'x-api-key'?: string
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: object }[]
  requestBody?: { required?: boolean; content: { [type: string]: { schema?: object } } }
  responses: { [status: string]: { content?: { [type: string]: unknown } } }
}

export interface Document {
  paths: { [path: string]: { [method: string]: Operation } }
  components: { schemas: { [name: string]: object } }
}

const PREFIX = '/api/v3'
/** These tell how to call, and a tool does that already. */
const NO_TOOLS = new Set(['/api/v3/openapi.json', '/api/v3/webhooks.json', '/api/v3/docs'])
const JSON_TYPE = 'application/json'
/** A hundred tools are read before every conversation. */
const MAX_DESCRIPTION = 600

/** The tools for a caller with these permissions; those that write only if that is allowed. */
export function listTools(
  document: Document,
  { permissions, allowWrites }: { permissions: ReadonlySet<string>; allowWrites: boolean },
): Tool[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => allowWrites || method === 'get')
      .filter(([, operation]) => isTool(path, operation, permissions))
      .map(([method, operation]) => toTool(document, path, method, operation)),
  )
}

function isTool(path: string, operation: Operation, permissions: ReadonlySet<string>): boolean {
  const access = operation['x-permission'] ?? ''
  if (!path.startsWith(PREFIX) || NO_TOOLS.has(path) || operation['x-api-key'] === 'refused') return false
  if (access !== 'session' && !permissions.has(access)) return false
  const body = operation.requestBody
  if (body && !body.content[JSON_TYPE]) return false
  // Sockets and pictures are nothing that a model reads.
  return Object.values(operation.responses).some(({ content }) => content?.[JSON_TYPE] !== undefined)
    ? operation.responses['101'] === undefined
    : false
}

function toTool(document: Document, path: string, method: string, operation: Operation): Tool {
  const { operationId = '', summary = '', description = '', parameters = [] } = operation
  const given = parameters.filter(parameter => parameter.in === 'path' || parameter.in === 'query')
  const body = operation.requestBody?.content[JSON_TYPE]?.schema
  const properties = {
    ...Object.fromEntries(
      given.map(({ name, description, schema }) => [
        name,
        { ...schema, ...(description && { description }) },
      ]),
    ),
    ...(body && { body }),
  }
  const required = given.filter(parameter => parameter.required).map(({ name }) => name)
  return {
    name: operationId,
    title: summary,
    description: describe(`${summary}. ${description}`),
    inputSchema: withDefinitions(document, {
      type: 'object',
      properties,
      required: body && operation.requestBody?.required !== false ? [...required, 'body'] : required,
      additionalProperties: false,
    }),
    annotations: {
      readOnlyHint: method === 'get',
      // Only what creates a record leaves everything else as it was.
      destructiveHint: method !== 'get' && operation.responses['201'] === undefined,
      openWorldHint: false,
    },
    call: {
      method: method.toUpperCase(),
      path,
      query: given.filter(parameter => parameter.in === 'query').map(({ name }) => name),
      hasBody: body !== undefined,
    },
  }
}

/** At most so many characters, in whole sentences where that is possible. */
function describe(text: string): string {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  if (plain.length <= MAX_DESCRIPTION) return plain
  const cut = plain.slice(0, MAX_DESCRIPTION)
  const end = cut.lastIndexOf('. ')
  return end > 0 ? cut.slice(0, end + 1) : `${cut.trimEnd()}…`
}

/** The schema with the components that it names beside it, so that it can be read alone. */
function withDefinitions({ components }: Document, schema: InputSchema): InputSchema {
  const definitions: { [name: string]: object } = {}
  const move = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
      if (key !== '$ref' || typeof inner !== 'string') return inner
      const name = inner.split('/').at(-1) as string
      if (!Object.hasOwn(definitions, name)) {
        definitions[name] = {}
        definitions[name] = move(components.schemas[name] ?? {})
      }
      return `#/$defs/${name}`
    }) as T
  const moved = move(schema)
  return Object.keys(definitions).length > 0 ? { ...moved, $defs: definitions } : moved
}

/** Arguments that are of no operation, in a sentence. */
export class WrongArguments extends Error {}

/** The request of a tool's call. Throws WrongArguments. */
export function toRequest(
  { call, inputSchema }: Tool,
  given: { [name: string]: unknown },
): { method: string; path: string; body: string | undefined } {
  const unknown = Object.keys(given).filter(name => !Object.hasOwn(inputSchema.properties, name))
  if (unknown.length > 0)
    throw new WrongArguments(
      `There is no argument ${unknown[0]}: there are ${Object.keys(inputSchema.properties).join(', ') || 'none'}.`,
    )
  const missing = inputSchema.required.find(name => given[name] === undefined || given[name] === null)
  if (missing !== undefined) throw new WrongArguments(`The argument ${missing} is missing.`)
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const part = toText(name, given[name])
    // A dot alone would lead to another path.
    if (/^\.*$/.test(part)) throw new WrongArguments(`The argument ${name} is empty.`)
    return encodeURIComponent(part)
  })
  const query = new URLSearchParams()
  for (const name of call.query) {
    const value = given[name]
    if (value !== undefined && value !== null) query.set(name, toText(name, value))
  }
  const search = query.size > 0 ? `?${query}` : ''
  return {
    method: call.method,
    path: path + search,
    body: call.hasBody ? JSON.stringify(given.body) : undefined,
  }
}

function toText(name: string, value: unknown): string {
  if (Array.isArray(value) && value.every(one => typeof one !== 'object')) return value.join(',')
  if (typeof value === 'object')
    throw new WrongArguments(`The argument ${name} has to be a text or a number.`)
  return String(value)
}
