import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'

// The OpenAPI document, which the server's routes describe, and its TypeScript types for openapi-fetch. Only the constructs that the
// document uses are supported; any other one fails the build.

/** Stands for every service: routes only pass them on before the first request. */
const unopened = new Proxy(() => {}, {
  get: (_target, name) => (name === 'then' || typeof name === 'symbol' ? undefined : unopened),
  apply: () => unopened,
})

/** Reads the document from a server that is created and never started. */
export async function readDocument(root) {
  const load = file => import(pathToFileURL(join(root, 'src', file)))
  const [{ createApp }, { gatherRoutes }, { toConfig }] = await Promise.all(
    ['app.ts', 'resources/interface/document.ts', 'config.ts'].map(load),
  )
  const config = toConfig({ ROLES: 'jobs', JWT_SECRET: 'of a program that signs nobody in' })
  const names = ['db', 'tokens', 'watcher', 'lastSeen', 'scheduler', 'metrics', 'listening']
  const services = Object.fromEntries(names.map(name => [name, unopened]))
  const logger = pino({ level: 'silent' })
  const app = await createApp(
    { ...services, config, log: null, live: null, mqtt: null, basemap: null, dependencies: {} },
    logger,
    gatherRoutes,
  )
  const document = app.swagger()
  await app.close()
  return document
}

export function writeTypes({ paths, components }) {
  const operations = Object.entries(paths).map(
    ([path, methods]) => `  ${JSON.stringify(path)}: {\n${writeMethods(methods, components.responses)}\n  }`,
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `    ${JSON.stringify(name)}: ${typeOf(schema)}`,
  )
  return `// Written by console/build/interface.mjs from the OpenAPI document.
export interface paths {
${operations.join('\n')}
}
export interface components {
  schemas: {
${schemas.join('\n')}
  }
}
`
}

function writeMethods(methods, shared) {
  return Object.entries(methods)
    .map(([method, operation]) => {
      const parameters = ['path', 'query', 'header'].map(place => {
        const of = (operation.parameters ?? []).filter(one => one.in === place)
        const fields = of.map(
          one => `${JSON.stringify(one.name)}${one.required ? '' : '?'}: ${typeOf(one.schema)}`,
        )
        if (of.length === 0) return `${place}?: never`
        return `${place}${of.some(one => one.required) ? '' : '?'}: { ${fields.join('; ')} }`
      })
      const body =
        operation.requestBody && `requestBody: { content: ${contentOf(operation.requestBody.content)} }; `
      const answers = Object.entries(operation.responses).map(([status, answer]) => [
        status,
        answer.$ref ? shared[answer.$ref.split('/').at(-1)] : answer,
      ])
      const responses = answers.map(
        ([status, { content }]) =>
          `${status}: { headers: { [name: string]: unknown }; content: ${content ? contentOf(content) : 'never'} }`,
      )
      return `    ${method}: { parameters: { ${parameters.join('; ')}; cookie?: never }; ${body ?? ''}responses: { ${responses.join('; ')} } }`
    })
    .join('\n')
}

const contentOf = content =>
  `{ ${Object.entries(content)
    .map(([media, { schema }]) => `${JSON.stringify(media)}: ${typeOf(schema)}`)
    .join('; ')} }`

function typeOf(schema) {
  if (schema === undefined || schema === true || Object.keys(schema).length === 0) return 'unknown'
  if (schema === false || (schema.not && Object.keys(schema.not).length === 0)) return 'never'
  if (schema.$ref) return `components["schemas"][${JSON.stringify(schema.$ref.split('/').at(-1))}]`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  const union = schema.anyOf ?? schema.oneOf
  if (union) return `(${union.map(typeOf).join(' | ')})`
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`
  if (Array.isArray(schema.type))
    return `(${schema.type.map(type => typeOf({ ...schema, type })).join(' | ')})`
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      if (schema.minItems > 1 && schema.minItems === schema.maxItems)
        return `[${Array(schema.minItems).fill(typeOf(schema.items)).join(', ')}]`
      return `(${typeOf(schema.items)})[]`
    case 'object':
      return objectOf(schema)
    case undefined:
      return 'unknown'
    default:
      throw new Error(`There is no type for ${JSON.stringify(schema)}`)
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }) {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  const rest = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
  if (additionalProperties !== false && (additionalProperties || fields.length === 0))
    fields.push(`[name: string]: ${fields.length === 0 ? rest : 'unknown'}`)
  return `{ ${fields.join('; ')} }`
}
