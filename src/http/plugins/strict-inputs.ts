import type { FastifyRequest, RouteOptions } from 'fastify'
import { z } from 'zod'
import type { App } from '../../services.ts'
import { type FieldError, FieldErrors, inQuery, invalid } from '../errors.ts'

const NO_QUERY = z.object({})

/**
 * Unknown parameters and fields answer 400 and are never ignored: a misspelt filter must not return everything. Routes
 * declare nothing for this: the accepted parameters are read from the schema of the query, and the build fails for a
 * body that names its keys and takes others (`checkBody`).
 */
export function addStrictInputs(app: App): void {
  app.addHook('onRoute', route => {
    route.schema = { ...route.schema, querystring: route.schema?.querystring ?? NO_QUERY }
    if (!(route.schema.querystring instanceof z.ZodObject))
      throw new Error(`The query of ${route.url} is no object`)
  })
  app.addHook('preValidation', async request => {
    const { query, body, routeOptions } = request
    checkProto(query, body, routeOptions)
    checkQuery(request)
    const unexpected = routeOptions.schema?.body ? [] : listUnexpected(request)
    if (unexpected.length > 0) throw new FieldErrors(unexpected, 'No body is accepted here: leave it out.')
  })
}

/**
 * Zod silently drops this key where an object may have any keys, so a filter by it would not filter. Unknown keys of a
 * point are ignored.
 */
function checkProto(query: unknown, body: unknown, { config }: FastifyRequest['routeOptions']): void {
  const path = findProto(query) ?? (config.role === 'ingest' ? null : findProto(body))
  if (path !== null) throw invalid(path, 'There is no such field.', 'unknown-field')
}

/** The path of a key `__proto__` in a value; null if there is none. */
export function findProto(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  if (Object.hasOwn(value, '__proto__')) return '__proto__'
  for (const [key, inner] of Object.entries(value)) {
    const below = findProto(inner)
    if (below !== null) return `${key}.${below}`
  }
  return null
}

/** Throws 400 for parameters that the route does not accept, or that are given more than once. */
export function checkQuery(request: FastifyRequest): void {
  // A schema with a catchall declares the other parameters that it accepts; a strict one has a catchall that takes none.
  const { catchall } = acceptedBy(request).def
  if (catchall && !(catchall instanceof z.ZodNever)) return
  const wrong = [...listUnknown(request), ...listRepeated('', request.query)]
  const [first] = wrong
  if (first)
    throw new FieldErrors(wrong, `The query is not valid at "${inQuery(first.path)}": ${first.message}`)
}

/** Reads `a=1&filter[b]=2` as `{ a: '1', filter: { b: '2' } }`; a repeated parameter becomes a list. Never throws. */
export function parseQuery(text: string): Fields {
  const query: Fields = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    const [, outer, inner] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name) ?? []
    if (outer === undefined || inner === undefined) add(query, name, value)
    else if (isFields(query[outer])) add(query[outer], inner, value)
    else add(query, outer, Object.assign(Object.create(null), { [inner]: value }))
  }
  return query
}

type Fields = { [name: string]: unknown }

function add(fields: Fields, name: string, value: unknown): void {
  const known = fields[name]
  if (known === undefined) fields[name] = value
  else if (Array.isArray(known)) known.push(value)
  else fields[name] = [known, value]
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const acceptedBy = ({ routeOptions }: FastifyRequest) =>
  (routeOptions.schema?.querystring ?? NO_QUERY) as z.ZodObject

function listUnknown(request: FastifyRequest): FieldError[] {
  const { shape } = acceptedBy(request)
  const unknown = Object.keys(request.query as Fields).filter(name => !Object.hasOwn(shape, name))
  return unknown.map(path => ({ path, code: 'unknown-field', message: 'There is no such parameter.' }))
}

function listRepeated(path: string, value: unknown): FieldError[] {
  if (Array.isArray(value)) return [{ path, code: 'too-many', message: 'This is given more than once.' }]
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    listRepeated(path === '' ? key : `${path}.${key}`, inner),
  )
}

/**
 * The fields of a body where none is accepted. Many clients send an empty object with every POST, which is accepted.
 */
function listUnexpected({ body }: FastifyRequest): FieldError[] {
  if (body === undefined || body === null) return []
  if (typeof body !== 'object' || Array.isArray(body))
    return [{ path: '', code: 'unknown-field', message: 'No body is accepted here.' }]
  return Object.keys(body).map(path => ({ path, code: 'unknown-field', message: 'There is no such field.' }))
}

/**
 * Throws if a route's body names its keys and takes others. The build calls it (`gatherRoutes`), not the start: there
 * it took a tenth of the processor time.
 */
export function checkBody({ method, url, schema, config }: RouteOptions): void {
  if (!schema?.body) return
  const json = z.toJSONSchema(schema.body as z.ZodType, { io: 'input', unrepresentable: 'any' })
  if (!isStrict(json, config?.role === 'ingest'))
    throw new Error(`The body of ${method} ${url} takes unknown keys: use z.strictObject`)
}

/** `isOpen`: unknown keys of a point are ignored where its schema allows them. */
function isStrict(node: unknown, isOpen: boolean): boolean {
  if (typeof node !== 'object' || node === null) return true
  const { type, properties, additionalProperties } = node as { [key: string]: unknown }
  const takesOthers = isOpen ? additionalProperties === undefined : additionalProperties !== false
  if (type === 'object' && properties && takesOthers) return false
  return Object.entries(node).every(([key, inner]) => key === 'examples' || isStrict(inner, isOpen))
}
