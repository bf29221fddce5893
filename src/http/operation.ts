import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { z } from 'zod'
import type { Access } from './permissions.ts'

/** The media type of a form whose fields may come in the address as well. */
export const FORM = 'application/x-www-form-urlencoded'

/** What an operation promises: stands in a resource's `schemas.ts`, and is given to the route that keeps it. */
interface Promised {
  /** What the caller needs; checked by a hook, and shown as `x-permission`. */
  access: Access
  tags: readonly string[]
  /** A few words: the operation's title. */
  summary: string
  /** What somebody has to know who calls it. */
  description: string
  params?: z.ZodType
  querystring?: z.ZodType
  body?: z.ZodType
  response: { [status: number]: unknown }
}

type Schema<P extends Promised> = Pick<P, Extract<keyof P, 'params' | 'querystring' | 'body' | 'response'>> &
  FastifySchema

/** The options of a route: `app.get('/hubs', operation({…}), handler)`. `config` is for what only few routes say. */
export function operation<const P extends Promised>(
  promised: P,
  config: Omit<FastifyContextConfig, 'access'> = {},
): { config: FastifyContextConfig; schema: Schema<P> } {
  const { access, ...schema } = promised
  return { config: { ...config, access }, schema: schema as unknown as Schema<P> }
}

/**
 * What schemas are called in the document, and so the classes of generated clients: `nameSchemas({ Hub: hub })`. Those without
 * a name are called after their place (src/resources/interface/components.ts).
 */
export function nameSchemas(schemas: { [name: string]: z.ZodType }): void {
  for (const [id, schema] of Object.entries(schemas)) z.globalRegistry.add(schema, { ...schema.meta(), id })
}
