import { z } from 'zod'

/** The shapes that every answer has (contract section 2). */
export const id = z
  .string()
  .describe('Identifier')
  .meta({ examples: ['019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70'] })

/** An identifier in a body; ours are written in small letters. */
export const reference = z.string().max(100).toLowerCase()

export const failure = z
  .object({
    status: z.literal(false),
    message: z
      .string()
      .describe('A sentence that a person can act on')
      .meta({ examples: ['There is no such hub.'] }),
    requestId: z.string().meta({ examples: ['019aa3c1-0a2b-7c3d-8e4f-5a6b7c8d9e0f'] }),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('In every 400 for a body or query: what is wrong where'),
  })
  .loose()
  .meta({ id: 'Failure' })

export const success = <T extends z.ZodType>(data: T) =>
  z
    .object({ status: z.literal(true), message: z.string().meta({ examples: ['Done'] }), data })
    .describe('Done')

export const list = <T extends z.ZodType>(item: T) =>
  z
    .object({
      status: z.literal(true),
      message: z.string().meta({ examples: ['Done'] }),
      data: z.array(item),
      pagination: z.object({
        limit: z.int(),
        nextCursor: z
          .string()
          .nullable()
          .describe('Give it as `cursor` for the next page; null on the last one'),
        total: z.int().optional(),
      }),
    })
    .describe('A page of the list')

const DESCRIPTIONS = {
  400: 'Malformed or invalid input',
  401: 'No token, or one that is expired, revoked or forged',
  403: 'The role lacks the permission',
  404: 'Not there, or of another organization',
  409: 'A conflict with what is there, or an Idempotency-Key that was used with another body',
  413: 'Too large',
  415: 'Not a media type that is taken here',
  429: 'Too many requests',
  500: 'Something went wrong on our side',
  503: 'A dependency is away; nothing was acknowledged, send it again',
} as const

export type FailureStatus = keyof typeof DESCRIPTIONS

/** The failures of a route, for its `response`, besides those that follow from what it asks for. */
export function failures(...statuses: FailureStatus[]): Record<number, typeof failure> {
  return Object.fromEntries(statuses.map(status => [status, failure.describe(DESCRIPTIONS[status])]))
}

export function ok<T>(data: T, message = 'Done') {
  return { status: true as const, message, data }
}

export function page<T>(data: T[], pagination: { limit: number; nextCursor: string | null; total?: number }) {
  return { status: true as const, message: 'Done', data, pagination }
}

/** The query of a list. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('How many at the most'),
  cursor: z.string().optional().describe('`nextCursor` of the page before'),
})

/** A cursor is opaque to clients: the JSON of the last row's keys. */
export function writePageCursor(keys: unknown): string {
  return Buffer.from(JSON.stringify(keys)).toString('base64url')
}

/** Reads a cursor that `schema` describes; undefined where there is none, null where it is not one of ours. */
export function readPageCursor<T>(cursor: string | undefined, schema: z.ZodType<T>): T | null | undefined {
  if (cursor === undefined) return undefined
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))
  } catch {
    return null
  }
}
