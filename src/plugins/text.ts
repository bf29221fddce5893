import { FieldErrors, notFound } from '../errors.ts'
import type { App } from '../services.ts'

/** Deeper than any record of ours; what walks a value by recursion is safe below it. */
const DEEPEST = 64

/**
 * What cannot be stored is refused at the door: no database takes NUL in a text, and UTF-8 has no lone surrogates.
 * Points are judged one by one instead, so that a wrong one takes nothing with it.
 */
export function addTextCheck(app: App): void {
  app.addHook('preValidation', async request => {
    if (request.routeOptions.config.role === 'ingest') return
    if (findUnstorable(request.params)) throw notFound('record')
    for (const input of [request.query, request.body]) {
      const error = findUnstorable(input)
      if (error) throw new FieldErrors([error], error.message)
    }
  })
}

/** The first place that cannot be stored, without recursion: the depth is what is in question. */
function findUnstorable(input: unknown): { path: string; message: string } | null {
  const left: { value: unknown; path: string[] }[] = [{ value: input, path: [] }]
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, path } = next
    if (typeof value === 'string') {
      if (isStorable(value)) continue
      return { path: path.join('.'), message: 'This text holds a character that cannot be stored.' }
    }
    if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) continue
    if (path.length >= DEEPEST) return { path: path.join('.'), message: 'This is nested too deeply.' }
    for (const [key, inner] of Object.entries(value)) {
      if (!isStorable(key)) {
        return { path: path.join('.'), message: 'A key holds a character that cannot be stored.' }
      }
      left.push({ value: inner, path: [...path, key] })
    }
  }
  return null
}

const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed()
