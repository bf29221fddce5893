import { exampleOf } from '../../src/resources/interface/examples.ts'
import type { Answer } from './client.ts'
import type { JsonSchema, OpenApi, Operation } from './openapi.ts'

/**
 * Finds the places in the OpenAPI document where a request names records, by the names of its properties, and builds
 * requests that name given ones there. So a new route is covered without further code.
 */
export type Path = readonly (string | 0)[]

const REFERENCE = /(^|[a-z])(Id|Ids)$/

type Resolve = (schema: JsonSchema) => JsonSchema

export function createResolver({ components }: OpenApi): Resolve {
  const resolve: Resolve = ({ $ref, ...schema }) => {
    if ($ref) return resolve(components.schemas[$ref.replace('#/components/schemas/', '')] ?? {})
    const choice = schema.anyOf?.find(({ type }) => type !== 'null')
    return choice ? resolve(choice) : schema
  }
  return resolve
}

/** The schema of an operation's JSON body, or undefined. */
export const bodySchema = ({ spec }: Operation): JsonSchema | undefined =>
  spec.requestBody?.content['application/json']?.schema

/** Every place in a body that names records. */
export function listReferences(schema: JsonSchema, resolve: Resolve, at: Path = []): Path[] {
  const known = resolve(schema)
  if (known.items) return listReferences(known.items, resolve, [...at, 0])
  return Object.entries(known.properties ?? {}).flatMap(([name, inner]) => {
    const path = [...at, name]
    // An MQTT client's identifier names no record.
    if (!REFERENCE.test(name) || name === 'clientId') return listReferences(inner, resolve, path)
    return resolve(inner).type === 'array' ? [[...path, 0]] : [path]
  })
}

/** The example of a body in which each required reference is one of `own`, by the property's name. */
export function exampleBody(operation: Operation, document: OpenApi, own: Map<string, string>): unknown {
  const schema = bodySchema(operation)
  if (!schema) return undefined
  const example = operation.spec.requestBody?.content['application/json']?.example
  const body = structuredClone(example ?? exampleOf(schema, document.components.schemas, 'request'))
  for (const path of listReferences(schema, createResolver(document))) {
    const name = path.filter(step => step !== 0).at(-1) as string
    const id = own.get(name.replace(/Ids$/, 'Id'))
    if (id && readAt(body, path) !== undefined) writeAt(body, path, id)
  }
  // An example in the document is in the past after a day.
  if (readAt(body, ['expiresAt']) !== undefined) writeAt(body, ['expiresAt'], inADay())
  return body
}

/**
 * The paths by which an operation may reach records of `own`: that of the kind before the parameter, or all of them if
 * no kind has that name.
 */
export function ownPaths({ path }: Operation, own: Map<string, string>): string[] {
  const [, segment] = /([\w-]+)\/\{\w+\}/.exec(path) ?? []
  if (segment === undefined) return [path]
  const kind = segment.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const known = own.get(`${kind}Id`)
  return (known ? [known] : [...own.values()]).map(id => path.replaceAll(/\{\w+\}/g, id))
}

/** The body with `id` at a place; missing parts on the way are taken from the examples of the schemas. */
export function withReference(
  body: unknown,
  schema: JsonSchema,
  document: OpenApi,
  path: Path,
  id: string,
): unknown {
  const resolve = createResolver(document)
  const put = (value: unknown, inner: JsonSchema, [step, ...rest]: Path): unknown => {
    if (step === undefined) return id
    const known = resolve(inner)
    if (step === 0) {
      const item = known.items ?? {}
      const first = (value as unknown[] | undefined)?.[0]
      const start = first ?? exampleOf(item, document.components.schemas, 'request')
      return [put(start, item, rest)]
    }
    const property = known.properties?.[step] ?? {}
    const present = (value ?? exampleOf(known, document.components.schemas, 'request')) as object
    return { ...present, [step]: put((present as Record<string, unknown>)[step], property, rest) }
  }
  return put(structuredClone(body), schema, path)
}

export const inADay = () => new Date(Date.now() + 86_400_000).toISOString()

function readAt(value: unknown, path: Path): unknown {
  let current = value
  for (const step of path) current = (current as Record<string | 0, unknown> | null | undefined)?.[step]
  return current
}

function writeAt(value: unknown, path: Path, leaf: unknown): void {
  const parent = readAt(value, path.slice(0, -1)) as Record<string | 0, unknown>
  parent[path.at(-1) as string] = leaf
}

/** Whether an answer about several records reports each as not created. */
export const refusesEach = ({ body: { data } }: Answer): boolean =>
  Array.isArray(data) && data.length > 0 && data.every(({ status }) => status === 'failed')

/**
 * The places that an answer finds invalid; if it reports on each record, those of the only one, in the list at `place`.
 */
export function refusedPaths(answer: Answer, [list]: Path): string[] {
  const { data, errors = [] } = answer.body
  if (!refusesEach(answer)) return errors.map(({ path }: { path: string }) => path)
  return data[0].errors.map(({ path }: { path: string }) => `${list}.0.${path}`)
}
