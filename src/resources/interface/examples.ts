/** The part of JSON Schema that our schemas use. */
export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  description?: string
  format?: string
  pattern?: string
  properties?: { [name: string]: JsonSchema }
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  propertyNames?: JsonSchema
  items?: JsonSchema
  prefixItems?: JsonSchema[]
  minItems?: number
  maxItems?: number
  enum?: unknown[]
  const?: unknown
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  examples?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
}

const STRINGS: { [format: string]: string } = {
  'date-time': '2026-11-21T10:00:00.000Z',
  date: '2026-11-21',
  time: '10:00:00',
  email: 'anna@example.com',
  uuid: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70',
  uri: 'https://example.com/',
}

/**
 * An example for a schema: its own first one, or one composed of its parts. A request's example has the required fields
 * and those with an example of their own, an answer's has all fields.
 */
export function exampleOf(
  schema: JsonSchema,
  components: { [name: string]: JsonSchema },
  side: 'request' | 'answer',
  name = '',
): unknown {
  const find = ({ $ref = '' }: JsonSchema) => components[$ref.replace('#/components/schemas/', '')]
  // A value of any type has no example.
  const isAny = (inner: JsonSchema) => {
    const { type, anyOf, oneOf, enum: choices } = find(inner) ?? inner
    return [type, anyOf, oneOf, choices].every(keyword => keyword === undefined)
  }
  const compose = (inner: JsonSchema, called = name) => exampleOf(inner, components, side, called)
  if (schema.$ref) {
    const named = find(schema)
    return named ? compose(named) : null
  }
  if (schema.examples && schema.examples.length > 0) return schema.examples[0]
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  if (side === 'request' && schema.default !== undefined) return schema.default
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return compose(choices.find(({ type }) => type !== 'null') ?? (choices[0] as JsonSchema))
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(part => compose(part)))
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type) {
    case 'object': {
      const shown = Object.entries(schema.properties ?? {}).filter(
        ([called, inner]) =>
          schema.required?.includes(called) || (side === 'answer' ? !isAny(inner) : inner.examples),
      )
      return Object.fromEntries(shown.map(([called, inner]) => [called, compose(inner, called)]))
    }
    case 'array': {
      const item = schema.items ?? {}
      const known = item.$ref !== undefined || item.examples !== undefined || item.type === 'object'
      return side === 'request' && !known && !schema.minItems ? [] : [compose(item)]
    }
    case 'string':
      return STRINGS[schema.format ?? ''] ?? (/Id$/.test(name) ? STRINGS.uuid : 'text')
    case 'integer':
    case 'number':
      return Math.max(
        schema.minimum ?? 1,
        schema.exclusiveMinimum === undefined ? 1 : schema.exclusiveMinimum + 1,
      )
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return null
  }
}
