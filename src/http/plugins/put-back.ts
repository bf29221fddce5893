import type { FastifyRequest, FastifySchema } from 'fastify'
import { z } from 'zod'
import type { App } from '../../services.ts'
import { invalid } from '../errors.ts'

/**
 * What GET shows can be PUT back: the keys that a resource shows and does not take, such as `_id` and `createdAt`, are left out
 * of the body before it is validated. The two schemas of the route tell which keys these are.
 */
export function addPutBack(app: App): void {
  app.addHook('onRoute', route => {
    if (route.method !== 'PUT' || !route.schema) return
    const taken = keysOf(route.schema.body)
    const shownOnly = shownKeys(route.schema).filter(key => !taken.includes(key))
    const leaveOut = async ({ body, params }: FastifyRequest) => {
      if (!isObject(body)) return
      const { id } = params as { id?: string }
      if (typeof body._id === 'string' && body._id.toLowerCase() !== id?.toLowerCase())
        throw invalid('_id', 'This is the _id of another record than the address names.')
      for (const key of shownOnly) delete body[key]
    }
    route.preValidation = [leaveOut, ...[route.preValidation ?? []].flat()]
  })
}

const keysOf = (schema: unknown): string[] => (schema instanceof z.ZodObject ? Object.keys(schema.shape) : [])

/** The keys of the record that a route answers with. */
function shownKeys({ response }: FastifySchema): string[] {
  const answer = (response as { [status: string]: unknown } | undefined)?.['200']
  return answer instanceof z.ZodObject ? keysOf(answer.shape.data) : []
}

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
