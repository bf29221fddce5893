import type { FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'
import type { ErrorParams } from './envelope.ts'
import type { FieldCode } from './error-codes.ts'
import { type FieldError, inQuery, notValid } from './errors.ts'

/** The faults of a body, a query or a path, as its schema finds them. */
export class InvalidInput extends Error {
  readonly statusCode = 400
  readonly errors: FieldError[]
  /** The part of the request that is invalid; set by Fastify. */
  validationContext?: string

  constructor(issues: readonly z.core.$ZodIssue[], isQuery = false) {
    const errors = issues.flatMap(toFieldErrors)
    const { path, message } = errors[0] as FieldError
    super(notValid(isQuery ? inQuery(path) : path, message))
    this.errors = errors
  }
}

/**
 * For every schema whose issues become an `InvalidInput`: zod reports a missing value and one of a wrong type as one
 * issue, and only the input tells them apart.
 */
export const REPORTING = { reportInput: true }

export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  given => {
    // Fastify gives null for a body that is not there.
    const data = httpPart === 'body' && given === null && mayBeMissing(schema) ? undefined : given
    const result = schema.safeParse(data, REPORTING)
    return result.success
      ? { value: result.data }
      : { error: new InvalidInput(result.error.issues, httpPart === 'querystring') }
  }

/** Whether a body may be left out: it has a default. Any value, as of points, does not mean none. */
export const mayBeMissing = (body: unknown): boolean => body instanceof z.ZodDefault

/**
 * An unknown key is named itself, other faults by their path. If a value may have several forms, its faults are those
 * of the form that it was meant to have.
 */
function toFieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String)
  const meant = issue.code === 'invalid_union' ? meantForm(issue) : undefined
  if (meant) return meant.flatMap(inner => toFieldErrors({ ...inner, path: [...issue.path, ...inner.path] }))
  const code = codeOf(issue)
  if (issue.code !== 'unrecognized_keys') {
    const params = paramsOf(issue)
    return [{ path: path.join('.'), code, message: issue.message, ...(params && { params }) }]
  }
  return issue.keys.map(key => ({ path: [...path, key].join('.'), code, message: issue.message }))
}

/** The issues of the form that a value was meant to have: the only form whose type fits. */
function meantForm({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  const [meant, ...others] = errors.filter(
    issues => !issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  )
  return others.length === 0 ? meant : undefined
}

interface OwnParams extends ErrorParams {
  code?: FieldCode
}

/** A check of our own names its code and parameters: `.refine(isHub, { params: { code: 'not-found' } })`. */
function codeOf(issue: z.core.$ZodIssue): FieldCode {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'required' : 'wrong-type'
    case 'invalid_value':
      return 'not-one-of'
    case 'too_big':
      return isText(issue.origin) ? 'too-long' : isCounted(issue.origin) ? 'too-many' : 'too-large'
    case 'too_small':
      return isText(issue.origin) ? 'too-short' : isCounted(issue.origin) ? 'too-few' : 'too-small'
    case 'invalid_format':
      return 'wrong-format'
    case 'not_multiple_of':
      return 'not-multiple'
    case 'unrecognized_keys':
      return 'unknown-field'
    case 'invalid_union':
      return 'wrong-type'
    default:
      return (issue as { params?: OwnParams }).params?.code ?? 'invalid'
  }
}

function paramsOf(issue: z.core.$ZodIssue): ErrorParams | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? undefined : expecting(TYPES[issue.expected])
    case 'invalid_format':
      return expecting(FORMATS[issue.format])
    case 'invalid_value':
      return { choices: issue.values.slice(0, MAX_CHOICES).map(String) }
    case 'too_big':
      return bound(issue.maximum, issue.inclusive)
    case 'too_small':
      return bound(issue.minimum, issue.inclusive)
    case 'not_multiple_of':
      return { limit: Number(issue.divisor) }
    case 'custom': {
      const { code: _, ...params }: OwnParams = issue.params ?? {}
      return Object.keys(params).length > 0 ? params : undefined
    }
  }
}

const expecting = (kind: Kind | undefined) => kind && { expected: kind[0] }
const bound = (limit: number | bigint, inclusive = true): ErrorParams => ({
  limit: Number(limit),
  ...(!inclusive && { exclusive: true }),
})

/** Makes every schema report faults in our sentences, unless it has its own. */
export function useOwnSentences(): void {
  z.config({ localeError: describeIssue })
}

type Kind = [name: NonNullable<ErrorParams['expected']>, words: string]

const TYPES: { [type: string]: Kind } = {
  string: ['text', 'a text'],
  number: ['number', 'a number'],
  int: ['integer', 'a whole number'],
  boolean: ['boolean', 'true or false'],
  array: ['list', 'a list'],
  tuple: ['list', 'a list'],
  object: ['object', 'an object'],
  record: ['object', 'an object'],
  date: ['time', 'a time'],
  null: ['null', 'null'],
}
const FORMATS: { [format: string]: Kind } = {
  email: ['email', 'an e-mail address such as anna@example.com'],
  url: ['url', 'a URL such as https://example.com/'],
  uuid: ['identifier', 'an identifier'],
  datetime: ['datetime', 'a time with its zone, such as 2026-11-21T09:00:00Z'],
  date: ['date', 'a date such as 2026-11-21'],
  time: ['time-of-day', 'a time of day such as 09:00'],
}
/** Nobody reads a longer list. */
const MAX_CHOICES = 20

function describeIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'This is required.'
      return `This has to be ${TYPES[issue.expected]?.[1] ?? 'of another type'}.`
    case 'invalid_value': {
      const choices = issue.values.slice(0, MAX_CHOICES).map(String).join(', ')
      return `This has to be ${issue.values.length > 1 ? 'one of ' : ''}${choices}${issue.values.length > MAX_CHOICES ? ', ..' : ''}.`
    }
    case 'too_big': {
      const max = String(issue.maximum)
      if (issue.origin === 'string') return `This has at most ${max} characters.`
      if (isCounted(issue.origin)) return `This has at most ${max} entries.`
      return `This has to be ${issue.inclusive ? 'at most' : 'less than'} ${max}.`
    }
    case 'too_small': {
      const min = String(issue.minimum)
      if ((issue.origin === 'string' || isCounted(issue.origin)) && min === '1')
        return 'This must not be empty.'
      if (issue.origin === 'string') return `This has at least ${min} characters.`
      if (isCounted(issue.origin)) return `This has at least ${min} entries.`
      return `This has to be ${issue.inclusive ? 'at least' : 'more than'} ${min}.`
    }
    case 'invalid_format':
      return `This has to be ${FORMATS[issue.format]?.[1] ?? 'of another form'}.`
    case 'not_multiple_of':
      return `This has to be a multiple of ${String(issue.divisor)}.`
    case 'unrecognized_keys':
      return 'There is no such field.'
    case 'invalid_union':
      return describeUnion(issue)
    default:
      return 'This is not valid.'
  }
}

function describeUnion(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  const { discriminator } = issue as { discriminator?: string }
  const known = issue.inst?._zod as { propValues?: { [key: string]: Set<unknown> } } | undefined
  const forms = discriminator
    ? [...(known?.propValues?.[discriminator] ?? [])].map(String)
    : issue.errors.flatMap(([first]) =>
        first?.code === 'invalid_type' && first.path.length === 0 ? (TYPES[first.expected]?.[1] ?? []) : [],
      )
  if (forms.length === 0) return 'This is none of the forms that are accepted here.'
  return `This has to be ${discriminator ? `one of ${forms.join(', ')}` : forms.join(' or ')}.`
}

const isText = (origin: string) => origin === 'string'

const isCounted = (origin: string) =>
  origin === 'array' || origin === 'set' || origin === 'map' || origin === 'file'
