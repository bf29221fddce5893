import type { components } from './interface.d.ts'

export type ErrorParams = components['schemas']['ErrorParams']

/** An error as the server describes it. Without a code its message is the page's own, in the language of the page. */
export interface Problem {
  code?: string | undefined
  message: string
  params?: ErrorParams | undefined
  /** With the code `totp-required`. */
  challenge?: string | undefined
}

interface FieldProblem extends Problem {
  path: string
}

/** A request that did not succeed. Status 0 means that the server was not reached. */
export class Failure extends Error {
  readonly status: number
  readonly problem: Problem
  /** The errors about fields, by their paths. */
  readonly fields: Record<string, Problem>
  /** The time after which a busy server accepts the next request. */
  readonly retryAfterMs: number | undefined

  constructor(
    status: number,
    problem: Problem = { message: '' },
    errors: readonly FieldProblem[] = [],
    retryAfterMs?: number,
  ) {
    super(problem.message)
    this.status = status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
    this.fields = Object.fromEntries(errors.map(error => [error.path, error]))
  }
}

export const retryAfterOf = (error: unknown): number | undefined =>
  error instanceof Failure ? error.retryAfterMs : undefined
/** Whether a retry may help: a server that is away comes back, an invalid request stays invalid. */
export const isAway = (error: unknown): boolean =>
  error instanceof Failure && (error.status === 0 || error.status >= 500)
const AGAIN_EVERY_MS = 5_000
/** The wait before a failed query is sent again; undefined when a retry cannot help. */
export const againAfter = (error: unknown): number | undefined =>
  retryAfterOf(error) ?? (isAway(error) ? AGAIN_EVERY_MS : undefined)
export const isForbidden = (error: unknown): boolean => error instanceof Failure && error.status === 403
export const isMissing = (error: unknown): boolean => error instanceof Failure && error.status === 404
