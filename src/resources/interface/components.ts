import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from './examples.ts'

// Clients are generated from the document: an object has one name there, and a class of that name in every client. A
// schema that several operations share is named where it is written, by `nameSchemas` or `.meta({ id })`. The others
// are named by their place.

type Schemas = { [name: string]: JsonSchema }
export interface Media {
  schema?: JsonSchema
  example?: unknown
}
interface Described {
  operationId?: string
  requestBody?: { content: { [type: string]: Media } }
  responses: { [status: string]: Answer }
}
interface Answer {
  $ref?: string
  content?: { [type: string]: Media }
}
interface Nameable {
  paths: { [path: string]: { [method: string]: Described } }
  webhooks?: { [event: string]: { post: Described } }
  components: { schemas: Schemas; responses?: { [name: string]: Answer } }
}

const PLACE = '#/components/schemas/'
const refTo = (name: string): JsonSchema => ({ $ref: PLACE + name })
const nameOf = (schema: JsonSchema | undefined) => schema?.$ref?.slice(PLACE.length)

/** Moves every object and every union of a body to `components.schemas`, under one name for each shape. */
export function shareSchemas(document: Nameable): void {
  const { paths, webhooks = {}, components } = document
  const operations = Object.values(paths).flatMap(methods => Object.values(methods))
  const events = Object.values(webhooks).map(({ post }) => post)
  const content = (operation: Described) =>
    [operation.requestBody, ...Object.values(operation.responses)].flatMap(part =>
      Object.values(part?.content ?? {}),
    )
  const all = operations.flatMap(content)
  // An event has no class of its own: otherwise openapi-generator 7.24 writes a file for typescript-fetch that does not
  // compile. Its fields are in the document of the events.
  for (const media of events.flatMap(content)) media.schema = { type: 'object', additionalProperties: true }
  for (const media of all) if (media.schema) media.schema = tidy(media.schema)

  const rename = joinDirections(components.schemas, all)
  for (const media of all) if (media.schema) media.schema = rename(media.schema)

  const named: Schemas = {}
  const define = (name: string, schema: JsonSchema) => {
    const other = named[name]
    if (other && !isDeepStrictEqual(other, schema))
      throw new Error(`Two schemas of the document are called ${name}: give one of them an id`)
    named[name] = schema
    return refTo(name)
  }
  for (const [name, schema] of Object.entries(components.schemas))
    define(
      name,
      mapParts(schema, (part, step) => extract(part, name + step, define)),
    )
  for (const operation of operations) {
    const id = capitalize(operation.operationId ?? '')
    for (const media of Object.values(operation.requestBody?.content ?? {}))
      if (media.schema) media.schema = extract(media.schema, `${id}Body`, define)
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const isFailure = status >= '400'
      for (const media of Object.values(content ?? {})) {
        if (!media.schema) continue
        // The answer has the description itself.
        const { description: _, ...schema } = media.schema
        const name = isFailure ? `${id}Failure` : (nameAnswer(schema) ?? `${id}Answer`)
        media.schema = extract(schema, name, define)
      }
    }
  }
  components.schemas = Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The names of failure responses. */
const FAILURES: { [status: string]: string } = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  426: 'UpgradeRequired',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
}

/** Moves failures that most operations share to `components.responses`: they would be half of the document. */
export function shareFailures({ paths, components }: Nameable): void {
  const shared: { [name: string]: Answer } = {}
  for (const { responses } of Object.values(paths).flatMap(methods => Object.values(methods))) {
    for (const [status, answer] of Object.entries(responses)) {
      const name = FAILURES[status]
      if (!name || nameOf(answer.content?.['application/json']?.schema) !== 'Failure') continue
      shared[name] ??= answer
      if (isDeepStrictEqual(shared[name], answer))
        responses[status] = { $ref: `#/components/responses/${name}` }
    }
  }
  components.responses = shared
}

/** Names an envelope after its record: `HubAnswer`, `HubPage`. Null if the record has no name. */
function nameAnswer({ properties = {} }: JsonSchema): string | null {
  const { data, pagination } = properties
  const name = nameOf(data) ?? nameOf(data?.items)
  if (!name) return null
  if (nameOf(data)) return `${name}Answer`
  return name + (pagination ? 'Page' : 'List')
}

/** Removes redundant parts from a schema, and parts that client generators cannot handle. */
export function tidy(schema: JsonSchema): JsonSchema {
  const tidied = mapParts(schema, tidy)
  const { propertyNames: _, prefixItems, ...rest } = tidied
  if (rest.minimum === Number.MIN_SAFE_INTEGER) delete rest.minimum
  if (rest.maximum === Number.MAX_SAFE_INTEGER) delete rest.maximum
  // The format implies it, and Python's client, which tests a time against the pattern, would not load.
  if (rest.format) delete rest.pattern
  for (const [name, part] of Object.entries(rest.properties ?? {}))
    if ('default' in part) rest.properties = { ...rest.properties, [name]: describeDefault(part) }
  if (hasNothing(rest.additionalProperties)) rest.additionalProperties = true
  if ('const' in rest) {
    rest.enum = [rest.const]
    delete rest.const
  }
  return prefixItems ? { ...rest, ...listOf(prefixItems) } : rest
}

const MAX_DEFAULT = 100

const hasNothing = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/**
 * Moves the default into the description: openapi-typescript requires a field that has a default, and Java cannot
 * express an object as one.
 */
function describeDefault({ default: standard, description, ...rest }: JsonSchema): JsonSchema {
  const value = JSON.stringify(standard)
  // A longer default is described by its field.
  if (value.length > MAX_DEFAULT) return { ...rest, ...(description ? { description } : {}) }
  const sentence = `\`${value}\` where it is left out`
  return { ...rest, description: description ? `${description}; ${sentence}` : sentence }
}

/** Replaces a tuple by a list of its length: some generators know no tuples, others take further items for one more. */
function listOf(items: JsonSchema[]): JsonSchema {
  const [type, ...others] = new Set(items.map(item => item.type))
  if (typeof type !== 'string' || others.length > 0) throw new Error('A tuple of several types has no list')
  const bounds = (['minimum', 'maximum'] as const).flatMap(bound => {
    const values = items.flatMap(item => item[bound] ?? [])
    if (values.length < items.length) return []
    return [[bound, bound === 'minimum' ? Math.min(...values) : Math.max(...values)]]
  })
  const length = { minItems: items.length, maxItems: items.length }
  return { items: { type, ...Object.fromEntries(bounds) }, ...length }
}

/**
 * A named schema has two forms: for requests (`HubInput`) and for answers (`Hub`). Only the used ones stay, and equal
 * ones become one. Returns a function that rewrites the names in a schema accordingly.
 */
function joinDirections(schemas: Schemas, roots: Media[]): (schema: JsonSchema) => JsonSchema {
  const used = new Set<string>()
  const find = (schema: JsonSchema): JsonSchema => {
    const name = nameOf(schema)
    const target = name === undefined ? undefined : schemas[name]
    if (name && target && !used.has(name)) {
      used.add(name)
      find(target)
    }
    return mapParts(schema, find)
  }
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = tidy(schema)
  for (const { schema } of roots) if (schema) find(schema)

  const joined = new Set([...used].filter(name => name.endsWith('Input')))
  const rename = (schema: JsonSchema): JsonSchema => {
    const name = nameOf(schema)
    const kept = name && joined.has(name) ? { ...schema, ...refTo(name.slice(0, -'Input'.length)) } : schema
    return mapParts(kept, rename)
  }
  // Two forms are equal only if the forms that they refer to are.
  for (let before = -1; before !== joined.size; ) {
    before = joined.size
    for (const name of [...joined]) {
      const answered = name.slice(0, -'Input'.length)
      const [one, other] = [schemas[name], schemas[answered]]
      if (one && other && used.has(answered) && !isDeepStrictEqual(rename(one), rename(other)))
        joined.delete(name)
    }
  }
  const kept = Object.entries(schemas).filter(([name]) => used.has(name))
  for (const name of Object.keys(schemas)) delete schemas[name]
  for (const [name, schema] of kept)
    schemas[joined.has(name) ? name.slice(0, -'Input'.length) : name] = rename(schema)
  return rename
}

/** The schema with a reference in place of each object and union, which are defined under the name of their place. */
function extract(
  schema: JsonSchema,
  name: string,
  define: (name: string, schema: JsonSchema) => JsonSchema,
): JsonSchema {
  const inner = mapParts(schema, (part, step) => extract(part, name + step, define))
  const isUnion = choicesOf(schema).length > 1
  const isObject = schema.properties !== undefined
  return isUnion || isObject ? define(name, inner) : inner
}

/** The choices of a union, without null. */
const choicesOf = ({ anyOf, oneOf }: JsonSchema) =>
  (anyOf ?? oneOf ?? []).filter(({ type }) => type !== 'null')

/** The schema with each schema directly below it replaced. `step` is the part's name within the name of the whole. */
function mapParts(schema: JsonSchema, change: (part: JsonSchema, step: string) => JsonSchema): JsonSchema {
  const copy = { ...schema }
  if (schema.properties) {
    const parts = Object.entries(schema.properties)
    copy.properties = Object.fromEntries(parts.map(([name, part]) => [name, change(part, capitalize(name))]))
  }
  if (schema.items) copy.items = change(schema.items, schema.properties ? 'Item' : '')
  if (typeof schema.additionalProperties === 'object')
    copy.additionalProperties = change(schema.additionalProperties, '')
  const isUnion = choicesOf(schema).length > 1
  const step = (part: JsonSchema, index: number) => (isUnion ? tagOf(part) || `${index + 1}` : '')
  if (schema.anyOf) copy.anyOf = schema.anyOf.map((part, index) => change(part, step(part, index)))
  if (schema.oneOf) copy.oneOf = schema.oneOf.map((part, index) => change(part, step(part, index)))
  if (schema.allOf) copy.allOf = schema.allOf.map((part, index) => change(part, `${index + 1}`))
  if (schema.prefixItems) copy.prefixItems = schema.prefixItems.map(part => change(part, 'Item'))
  return copy
}

/** The constant that distinguishes one of several objects. */
function tagOf({ properties = {} }: JsonSchema): string {
  const [tag] = Object.values(properties).flatMap(({ enum: choices }) =>
    choices?.length === 1 ? [String(choices[0])] : [],
  )
  return tag === undefined ? '' : capitalize(tag)
}

export const capitalize = (word: string) =>
  word
    .split(/[^A-Za-z0-9]+/)
    .map(part => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('')
