import { isStorable } from '../../../db/text.ts'
import type { App } from '../../services.ts'
import { FieldErrors, notFound } from '../errors.ts'

/**
 * What cannot be stored is answered 400 at once: no database takes NUL in a text, and UTF-8 has no lone surrogates.
 * Points are validated one by one instead, so that a wrong one spoils no other. How deep and how many values a
 * body has is bounded before (`bodies.ts`), so a walk of all of them is short.
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

/** The first place that cannot be stored. Its path is built on the way back, of what is found alone. */
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
