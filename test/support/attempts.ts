import type { Answer } from './client.ts'
import { isInTurn, toText } from './hostile.ts'
import type { Operation } from './openapi.ts'
import type { Validator } from './validators.ts'

/** A request with a part that nobody sends by accident. */
export interface Attempt {
  operation: Operation
  path: string
  body?: unknown
}

export const describeAttempt = ({ operation, path, body }: Attempt): string =>
  `${operation.name} ${path.slice(0, 300)} ${toText(body)?.slice(0, 300) ?? ''}`

/**
 * The attempts worth sending: those that the schemas accept, and of those that they reject the first of each operation.
 * The hooks before the schemas are the same for all, and no handler sees a rejected request.
 */
export function chooseSent(
  attempts: readonly Attempt[],
  validators: ReadonlyMap<string, Validator>,
): { sent: Attempt[]; problems: string[] } {
  const refused = new Set<Operation>()
  const problems: string[] = []
  const sent = attempts.filter(attempt => {
    const { operation, path, body } = attempt
    const validator = validators.get(operation.name) as Validator
    try {
      const error = validator.query(path.split('?', 2)[1] ?? '') ?? validator.body(toText(body))
      if (!error) return isInTurn()
      if (error.errors.length === 0) problems.push(`${describeAttempt(attempt)}: refused without errors`)
    } catch (error) {
      problems.push(`${describeAttempt(attempt)}: ${error}`)
    }
    const isFirst = !refused.has(operation)
    refused.add(operation)
    return isFirst
  })
  return { sent, problems }
}

/** The fault of an answer, or null. */
export function findProblem({ status, body, headers }: Answer): string | null {
  if (status >= 500) return `${status} ${JSON.stringify(body).slice(0, 200)}`
  if (status < 400) return null
  if (!headers.get('content-type')?.includes('json')) return `${status} without JSON`
  if (body.status !== false || typeof body.message !== 'string' || typeof body.requestId !== 'string')
    return `${status} without the envelope: ${JSON.stringify(body).slice(0, 200)}`
  const named = Array.isArray(body.errors) && body.errors.length > 0
  return status === 400 && !named ? `400 without errors: ${body.message}` : null
}
