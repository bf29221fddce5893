import { isStorable } from '../../../db/text.ts'
import type { App } from '../../services.ts'
import { FieldErrors, notFound } from '../errors.ts'

/**
 * Answers 400 for texts that cannot be stored: no database takes NUL in a text, and UTF-8 has no lone surrogates.
 * Points are validated one by one instead, so that a wrong one does not reject the others. The depth and number of a
 * body's values are bounded before (`bodies.ts`), so walking all of them is fast.
 */
export function addTextCheck(app: App): void {
  app.addHook('preValidation', async request => {
    if (request.routeOptions.config.role === 'ingest') return
    if (findUnstorable(request.params)) throw notFound('record')
    for (const input of [request.query, request.body]) {
      const found = findUnstorable(input)
      if (found)
        throw new FieldErrors([{ ...found, code: 'wrong-format', path: found.path.join('.') }], found.message)
    }
  })
}

/**
 * The first place that cannot be stored. Its path is built on the way back, so that only a found place costs memory.
 */
function findUnstorable(value: unknown): { path: string[]; message: string } | null {
  if (typeof value === 'string') {
    return isStorable(value)
      ? null
      : { path: [], message: 'This text has a character that cannot be stored.' }
  }
  if (typeof value !== 'object' || value === null) return null
  for (const key of Object.keys(value)) {
    if (!isStorable(key)) return { path: [], message: 'A key has a character that cannot be stored.' }
    const found = findUnstorable((value as { [key: string]: unknown })[key])
    if (found) return { ...found, path: [key, ...found.path] }
  }
  return null
}
