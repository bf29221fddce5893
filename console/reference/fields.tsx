import { referenceTexts as t } from '../texts/reference.ts'
import { type Document, resolveSchema, type Schema } from './document.ts'
import { Line } from './prose.tsx'

/** Deeper than any schema; a schema may refer to itself. */
const MAX_DEPTH = 6

interface Field {
  name: string
  schema: Schema
  isRequired: boolean
  description?: string
}

/** A list of fields with their types and limits. */
export function Fields(props: { fields: Field[]; document: Document; depth?: number }) {
  const { fields, document, depth = 0 } = props
  return (
    <ul className="fields">
      {fields.map(({ name, schema, isRequired, description }) => {
        const inner = depth < MAX_DEPTH ? fieldsOf(schema, document) : []
        const text = description ?? schema.description ?? resolveSchema(document, schema).description
        const limits = [
          ...describeLimits(schema),
          ...(schema.default === undefined ? [] : [t.standard(JSON.stringify(schema.default))]),
        ]
        return (
          <li key={name}>
            <div className="field-head">
              <code className="field-name">{name}</code>
              <code className="field-type">{describeType(schema, document)}</code>
              {isRequired && <span className="field-needed">{t.required}</span>}
            </div>
            {text && (
              <p>
                <Line text={text} />
              </p>
            )}
            {limits.length > 0 && <p className="hint">{limits.join(', ')}</p>}
            {inner.length > 0 && (
              <details>
                <summary>{t.fieldsOf(name)}</summary>
                <Fields fields={inner} document={document} depth={depth + 1} />
              </details>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** The fields of an object, or of the objects in a list. */
export function fieldsOf(given: Schema, document: Document): Field[] {
  const schema = resolveSchema(document, given)
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  const whole = choices.find(one => fieldsOf(one, document).length > 0)
  if (!schema.properties && whole) return fieldsOf(whole, document)
  if (schema.items) return fieldsOf(schema.items, document)
  return Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    schema: field,
    isRequired: schema.required?.includes(name) ?? false,
  }))
}

/** A type in the notation of TypeScript. */
export function describeType(given: Schema, document: Document): string {
  const schema = resolveSchema(document, given)
  const name = given.$ref
    ?.split('/')
    .at(-1)
    ?.replace(/Input$/, '')
  if (name) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(one => describeType(one, document)))].join(' | ')
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  if (schema.type === 'array') {
    const inner = describeType(schema.items ?? {}, document)
    return inner.includes('|') ? `(${inner})[]` : `${inner}[]`
  }
  return schema.format ? `${schema.type ?? 'any'} (${schema.format})` : (schema.type ?? 'any')
}

function describeLimits(schema: Schema): string[] {
  const { minLength, maxLength, minItems, maxItems } = schema
  const known = (value: number | undefined) =>
    Math.abs(value ?? Infinity) < Number.MAX_SAFE_INTEGER ? value : undefined
  const range = (low: number | undefined, high: number | undefined) =>
    low === undefined ? `≤ ${high}` : high === undefined ? `≥ ${low}` : `${low} – ${high}`
  const [minimum, maximum] = [known(schema.minimum), known(schema.maximum)]
  return [
    ...(maxLength === undefined ? [] : [t.characters(range(minLength, maxLength))]),
    ...(maxItems === undefined ? [] : [t.entries(range(minItems, maxItems))]),
    ...(minimum === undefined && maximum === undefined ? [] : [range(minimum, maximum)]),
  ]
}
