import { pino } from 'pino'
import type { z } from 'zod'
import { createApp } from '../../src/app.ts'
import { readEnv, toConfig } from '../../src/config.ts'
import { parseQuery } from '../../src/http/plugins/strict-inputs.ts'
import { type InvalidInput, validatorCompiler } from '../../src/http/validation.ts'
import type { Services } from '../../src/services.ts'

/** The checks of an operation on a query or a body before its handler sees it. */
export interface Validator {
  /** The fault of the input, or null; undefined if the handler reads it itself. */
  query(text: string): InvalidInput | null
  body(text: string | undefined): InvalidInput | null | undefined
}

/** Stands for everything that the routes take from the services before they run: they only pass it on. */
const unopened: unknown = new Proxy(() => {}, {
  get: (_target, name) => (name === 'then' || typeof name === 'symbol' ? undefined : unopened),
  apply: () => unopened,
})

interface Schema {
  querystring?: z.ZodType
  body?: z.ZodType
}

/** The routes' own validators, by the name of each operation as in `Operation`. */
export async function readValidators(): Promise<Map<string, Validator>> {
  const found = new Map<string, Validator>()
  const names = [
    'db',
    'log',
    'tokens',
    'watcher',
    'live',
    'mqtt',
    'lastSeen',
    'scheduler',
    'metrics',
    'listening',
  ]
  const services = Object.fromEntries(names.map(name => [name, unopened])) as unknown as Services
  const config = toConfig(readEnv({ JWT_SECRET: 'of a program that signs nobody in' }))
  const app = await createApp(
    { ...services, config, dependencies: {} },
    pino({ level: 'silent' }),
    async described => {
      described.addHook('onRoute', route => {
        for (const method of [route.method].flat())
          found.set(
            `${method.toLowerCase()} ${route.url.replaceAll(/:(\w+)/g, '{$1}')}`,
            // The schema of its query is added to the route afterwards.
            createValidator(() => (route.schema ?? {}) as Schema),
          )
      })
    },
  )
  await app.close()
  return found
}

function createValidator(read: () => Schema): Validator {
  const check = (schema: z.ZodType, httpPart: string, value: unknown): InvalidInput | null => {
    const validate = validatorCompiler({ schema, httpPart, method: '', url: '' })
    return (validate(value) as { error?: InvalidInput }).error ?? null
  }
  return {
    query(text) {
      const { querystring } = read()
      return querystring ? check(querystring, 'querystring', parseQuery(text)) : null
    },
    body(text) {
      const { body } = read()
      return body && check(body, 'body', text === undefined ? undefined : JSON.parse(text))
    },
  }
}
