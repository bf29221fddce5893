import type { ErrorParams, Problem } from '../api/failure.ts'
import type { components } from '../api/interface.d.ts'
import { isolate } from './isolate.ts'

type Schemas = components['schemas']
type Kinds = Record<NonNullable<ErrorParams['expected']>, string>
type ErrorText = string | ((params: ErrorParams, kinds: Kinds) => string)

/**
 * The texts of the server's error codes. A text that ends with a colon is too general to act on: the server's own
 * sentence follows it.
 */
export interface ErrorTexts {
  failures: Record<Schemas['FailureCode'], ErrorText>
  fields: Record<Schemas['FieldErrorCode'], ErrorText>
  /** The kinds of values that a field expects. */
  kinds: Kinds
  /** Before the sentence of an error whose code this page does not know. */
  unknown: string
}

/** The error in the language of the page, and the server's own sentence if it has to follow. */
export function describe(
  { code, message, params }: Problem,
  list: 'failures' | 'fields',
  texts: ErrorTexts,
): { text: string; detail: string } {
  if (code === undefined) return { text: message, detail: '' }
  const found = new Map<string, ErrorText>(Object.entries(texts[list])).get(code) ?? texts.unknown
  const text = typeof found === 'string' ? found : found(isolated(params), texts.kinds)
  return { text, detail: text.endsWith(':') ? message : '' }
}

/** The error about a field in one sentence. */
export function describeField(problem: Problem, texts: ErrorTexts): string {
  const { text, detail } = describe(problem, 'fields', texts)
  return detail === '' ? text : `${text} ${detail}`
}

const isolated = (params: ErrorParams = {}): ErrorParams =>
  params.name === undefined ? params : { ...params, name: isolate(params.name) }
