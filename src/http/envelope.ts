import { z } from 'zod'
import { FAILURES, type FailureCode, FIELD_ERRORS, type FieldCode } from './error-codes.ts'

/** The shapes that every answer has (contract section 2). */
export const id = z
  .string()
  .describe('Identifier')
  .meta({ examples: ['019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70'] })

/** A text of an answer, with an example. */
export const text = (example: string) => z.string().meta({ examples: [example] })

/** The value of a field of a record. */
export const anyValue = z.unknown().meta({ id: 'AnyValue', description: 'Any JSON value' })

/** A reference to another record, with its name. */
export const namedRecord = z.object({ _id: id, name: text('Customer') }).meta({ id: 'NamedRecord' })

/** The mark of every record that sample data may create. */
export const isSample = z.boolean().describe('Whether it came with the organization, to try things out with')

/** An identifier in a path. A malformed one answers 404, as every other fault of a path does (plugins/errors.ts). */
export const pathId = z.uuid().toLowerCase().describe('Identifier')

/** An identifier in a body, in lower case as ours are. */
export const reference = z.string().max(100).toLowerCase()

const FAILURE_MEANINGS = Object.fromEntries(
  Object.entries(FAILURES).map(([code, { means }]) => [code, means]),
)
const listMeanings = (meanings: { [code: string]: string }) =>
  Object.entries(meanings)
    .map(([code, means]) => `- \`${code}\`: ${means}`)
    .join('\n')

const EXPECTED = [
  'text',
  'number',
  'integer',
  'boolean',
  'list',
  'object',
  'time',
  'null',
  'email',
  'url',
  'identifier',
  'datetime',
  'date',
  'time-of-day',
] as const

const errorParams = z
  .object({
    limit: z.number().describe('The bound that the value exceeds: characters, entries, or a number'),
    exclusive: z.boolean().describe('Whether the limit itself is outside of the bound'),
    expected: z.enum(EXPECTED).describe('The kind of value that is expected'),
    choices: z.array(z.string()).describe('The values that are accepted, the first 20 of them'),
    name: z.string().describe('The name that another record has already'),
    permission: z.string().describe('The permission that the role of the caller lacks'),
    vertices: z.array(z.int()).describe('Numbers of vertices of a polygon, counted from 1'),
  })
  .partial()
  .meta({
    id: 'ErrorParams',
    description: 'The values that a translation of the error needs beside its code',
  })

export type ErrorParams = z.infer<typeof errorParams>

/** One wrong value and its place. */
export const fieldError = z
  .object({
    path: text('name'),
    code: z
      .enum(Object.keys(FIELD_ERRORS) as FieldCode[])
      .meta({ id: 'FieldErrorCode', examples: ['too-short'], description: listMeanings(FIELD_ERRORS) }),
    message: text('This must not be empty.'),
    params: errorParams.optional(),
  })
  .meta({ id: 'FieldError' })

export const failure = z
  .object({
    status: z.boolean().meta({ examples: [false] }),
    code: z
      .enum(Object.keys(FAILURES) as FailureCode[])
      .meta({ id: 'FailureCode', examples: ['not-found'], description: listMeanings(FAILURE_MEANINGS) }),
    message: text('There is no such hub.').describe('A sentence that a person can act on'),
    params: errorParams.optional(),
    challenge: z
      .string()
      .optional()
      .describe('With the code `totp-required`: to be sent to `POST /auth/login/totp` with a code'),
    requestId: text('019aa3c1-0a2b-7c3d-8e4f-5a6b7c8d9e0f'),
    errors: z
      .array(fieldError)
      .optional()
      .describe('In every 400 for a body or query: each error with its place'),
  })
  .loose()
  .meta({ id: 'Failure' })

/** Marks success. A plain boolean: generators make a class or an error of an enum with one value. */
export const done = z.boolean().meta({ examples: [true] })

export const success = <T extends z.ZodType>(data: T) =>
  z.object({ status: done, message: text('Done'), data }).describe('Done')

/** The answer of a DELETE. */
export const deleted = success(z.object({ _id: id }).meta({ id: 'Deleted' }))

const pagination = z
  .object({
    limit: z.int().meta({ examples: [50] }),
    nextCursor: text('eyJzb3J0IjoibmFtZSJ9')
      .nullable()
      .describe('Give it as `cursor` for the next page; null on the last one'),
    total: z.int().optional(),
  })
  .meta({ id: 'Pagination' })

export const list = <T extends z.ZodType>(item: T) =>
  z
    .object({ status: done, message: text('Done'), data: z.array(item), pagination })
    .describe('A page of the list')

const DESCRIPTIONS = {
  400: 'Malformed or invalid input',
  401: 'No token, or one that is expired, revoked or forged',
  403: 'The role lacks the permission, or it is a device that asks',
  404: 'Not there, or of another organization',
  408: 'The body did not arrive in time',
  409: 'A conflict with what is there, or an Idempotency-Key that was used with another body',
  413: 'Too large',
  415: 'Not a media type that is accepted here',
  422: 'A file that was read and cannot be imported as it is',
  426: 'A WebSocket is opened here: send an upgrade',
  429: 'Too many requests',
  500: 'Something went wrong on our side',
  503: 'A dependency is away; nothing was acknowledged, send it again',
} as const

export type FailureStatus = keyof typeof DESCRIPTIONS

const FAILURES_BY_STATUS = Object.fromEntries(
  Object.entries(DESCRIPTIONS).map(([status, description]) => [status, failure.describe(description)]),
)

/** The failures of a route, for its `response`, besides those that follow from its access, body and query. */
export function failures(...statuses: FailureStatus[]): Record<number, typeof failure> {
  return Object.fromEntries(statuses.map(status => [status, FAILURES_BY_STATUS[status] as typeof failure]))
}

export function ok<T>(data: T, message = 'Done') {
  return { status: true as const, message, data }
}

/** The answer of a POST that creates a record. */
export function created<T>(reply: { code(status: 201): unknown }, data: T, message: string) {
  reply.code(201)
  return ok(data, message)
}

export function page<T>(data: T[], pagination: { limit: number; nextCursor: string | null; total?: number }) {
  return { status: true as const, message: 'Done', data, pagination }
}

/** The query of a list. */
export const pageQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(500)
    .default(50)
    .describe('How many at most; a page also ends at about 1 MiB'),
  cursor: z.string().optional().describe('`nextCursor` of the page before'),
})
