import type { Operation, Parameter } from './document.ts'

/** The input for an operation, by parameter. */
export interface Values {
  parameters: { [name: string]: string }
  /** As text: JSON, or the content of the file. */
  body: string
}

/** A request, ready for this page or for a sample program. */
export interface Prepared {
  method: string
  url: string
  headers: { [name: string]: string }
  json?: unknown
  /** The other fields of a form with a file, and the file. */
  form?: { fields: [string, string][]; fileName: string; file: string }
}

/** Permissions of operations that also accept device keys. */
const TAKES_KEYS = ['device', 'create/location']

export const takesKey = ({ permission }: Operation): boolean => TAKES_KEYS.includes(permission ?? '')
export const needsToken = ({ permission }: Operation): boolean =>
  permission !== 'public' && permission !== null
export const takesIdempotencyKey = ({ parameters }: Operation): boolean =>
  parameters.some(({ name }) => name === 'Idempotency-Key')

/** Random also without `crypto.randomUUID`, which browsers lack over plain HTTP from another host. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

const JSON_TYPE = 'application/json'
const isForm = ({ body }: Operation) => body?.type === 'multipart/form-data'

const DAY_MS = 86_400_000

/** The first input for an operation: the document's examples, with current times. */
export function exampleValues(operation: Operation, now = new Date()): Values {
  const days = (count: number) => new Date(now.getTime() + count * DAY_MS).toISOString()
  const range: { [name: string]: string } = { from: days(-1), to: days(0) }
  // An operation that needs one of several identifiers, or a place or a text, has an example for one of them.
  const isNeeded = (one: Parameter) =>
    one.required || (/(Id|^lat|^lng|^lon)$/.test(one.name) && one.example !== undefined)
  const parameters = Object.fromEntries(
    operation.parameters
      .filter(one => one.in === 'path' || (one.in === 'query' && isNeeded(one)))
      .map(one => [one.name, range[one.name] ?? String(one.example ?? '')]),
  )
  // A point of last year is not on the map, and an expired link does not work.
  const times: { [name: string]: unknown } = {
    timestamp: days(0),
    tst: Math.floor(now.getTime() / 1_000),
    expiresAt: days(1),
  }
  // An object of that name is no time: a profile says where the time is.
  const current = (name: string, value: unknown) =>
    typeof value === 'object' ? value : (times[name] ?? value)
  const { body } = operation
  if (!body) return { parameters, body: '' }
  const { file: _file, ...fields } = body.example as { [name: string]: unknown }
  const example = isForm(operation) ? fields : body.example
  return { parameters, body: JSON.stringify(example, current, 2) }
}

/** Builds the request of an operation. Throws a SyntaxError if the body is not JSON. */
export function prepare(
  operation: Operation,
  values: Values,
  origin: string,
  secret: string | null,
): Prepared {
  const { method, parameters, body } = operation
  const enteredFor = ({ name }: Parameter) => values.parameters[name]?.trim().toWellFormed() ?? ''
  let path = operation.path
  const query: string[] = []
  for (const parameter of parameters) {
    const value = enteredFor(parameter)
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value))
    if (parameter.in !== 'query' || value === '') continue
    if (parameter.style === 'deepObject') query.push(...readDeep(parameter.name, value))
    else query.push(`${encodeURIComponent(parameter.name)}=${encodeURIComponent(value)}`)
  }
  const headers: Prepared['headers'] = {}
  if (secret !== null && needsToken(operation)) headers.Authorization = `Bearer ${secret}`
  const url = `${origin}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`
  if (!body || values.body.trim() === '') return { method, url, headers }
  const json: unknown = JSON.parse(values.body)
  if (!isForm(operation)) return { method, url, headers: { ...headers, 'Content-Type': JSON_TYPE }, json }
  const fields = Object.entries(json as object).map(([name, value]): [string, string] => [
    name.toWellFormed(),
    typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value),
  ])
  const file = String((body.example as { file?: string }).file ?? '')
  return { method, url, headers, form: { fields, fileName: 'records.csv', file } }
}

/**
 * `status=open&kind=x` for `filter` becomes `filter[status]=open&filter[kind]=x`. The brackets are encoded, as curl takes
 * them for a range.
 */
function readDeep(name: string, text: string): string[] {
  return [...new URLSearchParams(text)].map(
    ([key, value]) => `${encodeURIComponent(`${name}[${key}]`)}=${encodeURIComponent(value)}`,
  )
}
