import type { Operation, Parameter } from './document.ts'

/** What somebody has entered for an operation, by the names of its parameters. */
export interface Values {
  parameters: { [name: string]: string }
  /** As text: JSON, or what stands in the file. */
  body: string
}

/** A request, whoever sends it: this page, or a program that is pasted somewhere. */
export interface Prepared {
  method: string
  url: string
  headers: { [name: string]: string }
  json?: unknown
  /** Of a form with a file: its other fields, and the file. */
  form?: { fields: [string, string][]; fileName: string; file: string }
}

/** Keys of devices count here as much as tokens. */
const TAKES_KEYS = ['device', 'create/location']

export const takesKey = ({ permission }: Operation): boolean => TAKES_KEYS.includes(permission ?? '')
export const needsToken = ({ permission }: Operation): boolean =>
  permission !== 'public' && permission !== null
export const takesIdempotencyKey = ({ parameters }: Operation): boolean =>
  parameters.some(({ name }) => name === 'Idempotency-Key')

/** Random where `crypto.randomUUID` is not: over plain HTTP from elsewhere. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

const JSON_TYPE = 'application/json'
const isForm = ({ body }: Operation) => body?.type === 'multipart/form-data'

const DAY_MS = 86_400_000

/** What an operation is tried with at first: the examples of its document, with times that mean something now. */
export function exampleValues(operation: Operation, now = new Date()): Values {
  const days = (count: number) => new Date(now.getTime() + count * DAY_MS).toISOString()
  const range: { [name: string]: string } = { from: days(-1), to: days(0) }
  // One of several identifiers that an operation needs has an example.
  const isNeeded = (one: Parameter) => one.required || (one.name.endsWith('Id') && one.example !== undefined)
  const parameters = Object.fromEntries(
    operation.parameters
      .filter(one => one.in === 'path' || (one.in === 'query' && isNeeded(one)))
      .map(one => [one.name, range[one.name] ?? String(one.example ?? '')]),
  )
  // A point of last year is on no map, and a link that has expired is none.
  const times: { [name: string]: unknown } = {
    timestamp: days(0),
    tst: Math.floor(now.getTime() / 1_000),
    expiresAt: days(1),
  }
  const current = (name: string, value: unknown) => times[name] ?? value
  const { body } = operation
  if (!body) return { parameters, body: '' }
  const { file: _file, ...fields } = body.example as { [name: string]: unknown }
  const example = isForm(operation) ? fields : body.example
  return { parameters, body: JSON.stringify(example, current, 2) }
}

/** The request of an operation with these values. Throws a SyntaxError where the body is no JSON. */
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

/** `status=open&kind=x` for `filter` is `filter[status]=open&filter[kind]=x`, in which curl would take brackets for a range. */
function readDeep(name: string, text: string): string[] {
  return [...new URLSearchParams(text)].map(
    ([key, value]) => `${encodeURIComponent(`${name}[${key}]`)}=${encodeURIComponent(value)}`,
  )
}
