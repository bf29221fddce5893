import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { z } from 'zod'
import type { Access } from './permissions.ts'

/** The media type of a form whose fields may also come in the address. */
export const FORM = 'application/x-www-form-urlencoded'

/** The promise of an operation: it stands in a resource's `schemas.ts` and is given to the route that keeps it. */
interface Promised {
  /** The access that the caller needs; checked by a hook, and shown as `x-permission`. */
  access: Access
  tags: readonly string[]
  /** The operation's title, in a few words. */
  summary: string
  /** The information that a caller needs. */
  description: string
  params?: z.ZodType
  querystring?: z.ZodType
  body?: z.ZodType
  response: { [status: number]: unknown }
}

type Schema<P extends Promised> = Pick<P, Extract<keyof P, 'params' | 'querystring' | 'body' | 'response'>> &
  FastifySchema

/**
 * The options of a route: `app.get('/hubs', operation({…}), handler)`. `config` holds settings that few routes need.
 */
export function operation<const P extends Promised>(
  promised: P,
  config: Omit<FastifyContextConfig, 'access'> = {},
): { config: FastifyContextConfig; schema: Schema<P> } {
  const { access, ...schema } = promised
  return { config: { ...config, access }, schema: schema as unknown as Schema<P> }
}

/**
 * Names schemas in the document, and so the classes of generated clients: `nameSchemas({ Hub: hub })`. Schemas without
 * a name are called after their place (src/resources/interface/components.ts).
 */
export function nameSchemas(schemas: { [name: string]: z.ZodType }): void {
  for (const [id, schema] of Object.entries(schemas)) z.globalRegistry.add(schema, { ...schema.meta(), id })
}

/** An answer that says nothing beside its status. */
export const nothing = z.object({})
nameSchemas({ Nothing: nothing })
