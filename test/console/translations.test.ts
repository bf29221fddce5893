import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ErrorParams } from '../../console/api/failure.ts'
import { readSpeed } from '../../console/pages/map/speed.ts'
import { de } from '../../console/texts/de/de.ts'
import { rejectionTexts as rejectionsInGerman } from '../../console/texts/de/rejections.ts'
import { en } from '../../console/texts/en/en.ts'
import { rejectionTexts as rejectionsInEnglish } from '../../console/texts/en/rejections.ts'
import * as errors from '../../console/texts/errors.ts'
import { FAILURES, FIELD_ERRORS } from '../../src/http/error-codes.ts'
import { newName } from '../../src/http/names.ts'
import { InvalidInput, REPORTING, useOwnSentences } from '../../src/http/validation.ts'
import { closeRing } from '../../src/resources/geofences/ring.ts'
import { REASONS } from '../../stream/point.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const MESSAGE = 'The server says why.'
/** Every parameter that an error may have. */
const PARAMS: ErrorParams = {
  limit: 7,
  expected: 'date',
  choices: ['a'],
  name: 'Nord',
  permission: 'view/hub',
  vertices: [3],
}
const LANGUAGES = [
  ['English', en],
  ['German', de],
] as const

function readTypeScript(folder: string, except = /^$/): string {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => /\.tsx?$/.test(file) && !except.test(file))
    .map(file => readFileSync(join(ROOT, folder, file), 'utf8'))
    .join('\n')
}

/** The first error of a value that does not fit a schema, in German. */
function inGerman(schema: z.ZodType, value: unknown): string {
  useOwnSentences()
  const [first] = new InvalidInput(schema.safeParse(value, REPORTING).error?.issues ?? []).errors
  return first ? errors.describeField(first, de.problems) : ''
}

describe('The texts of error codes', () => {
  it.each(LANGUAGES)('exist for every code, with and without parameters, in %s', (_, { problems }) => {
    const lists = { failures: Object.keys(FAILURES), fields: Object.keys(FIELD_ERRORS) } as const
    for (const list of ['failures', 'fields'] as const) {
      expect(Object.keys(problems[list]).toSorted()).toEqual(lists[list].toSorted())
      for (const code of lists[list]) {
        const { text, detail } = errors.describe({ code, message: MESSAGE, params: PARAMS }, list, problems)
        expect(text, code).toMatch(/^[A-ZÄÖÜ].*[^ ][.:]$/)
        expect(detail, code).toBe(text.endsWith(':') ? MESSAGE : '')
        expect(errors.describe({ code, message: MESSAGE }, list, problems).text, code).not.toBe('')
      }
    }
  })

  it.each([
    ['English', rejectionsInEnglish],
    ['German', rejectionsInGerman],
  ])('exist for every reason of a rejected point in %s', (_, { reasons, advice }) => {
    for (const texts of [reasons, advice])
      expect(Object.keys(texts).toSorted()).toEqual([...REASONS].toSorted())
  })

  it.each([
    [z.string(), undefined, 'Bitte ausfüllen.'],
    [z.string().min(1), '', 'Darf nicht leer sein.'],
    [z.string().min(3), 'a', 'Mindestens 3 Zeichen.'],
    [z.string().max(3), 'abcd', 'Höchstens 3 Zeichen.'],
    [z.array(z.string()).max(1), ['a', 'b'], 'Höchstens 1 Einträge.'],
    [z.number(), 'a', 'Muss eine Zahl sein.'],
    [z.int(), 1.5, 'Muss eine ganze Zahl sein.'],
    [z.number().min(-90), -91.25, 'Muss mindestens -90 sein.'],
    [z.number().gt(0), 0, 'Muss größer als 0 sein.'],
    [z.number().lt(1), 1, 'Muss kleiner als 1 sein.'],
    [z.enum(['metric', 'imperial']), 'other', 'Muss eines davon sein: metric, imperial.'],
    [newName(9), '\u2800', 'Muss mindestens ein sichtbares Zeichen enthalten.'],
    [newName(9), 'a\u202e', 'Enthält ein unsichtbares Zeichen. Bitte neu eingeben.'],
    [z.string().refine(() => false, MESSAGE), 'a', `Ungültig: ${MESSAGE}`],
  ])('have the limits of the schema: %#', (schema, value, text) => {
    expect(inGerman(schema, value)).toBe(text)
  })

  it('name the corners of a polygon that crosses itself', () => {
    const fault = closeRing([
      [0, 0],
      [1, 1],
      [1, 0],
      [0, 1],
    ])
    if (Array.isArray(fault)) throw new Error('The polygon has no fault')
    const { code, message, ...params } = fault
    expect(errors.describeField({ code, message, params }, de.problems)).toBe(
      'Das Polygon überschneidet sich: Die Kanten ab Ecke 1 und Ecke 3 treffen sich.',
    )
  })

  it('show the server’s sentence for a code that the page does not know', () => {
    for (const code of ['new-code', 'constructor']) {
      expect(errors.describe({ code, message: MESSAGE }, 'failures', de.problems)).toEqual({
        text: 'Der Server meldet:',
        detail: MESSAGE,
      })
    }
  })

  it('keep the direction of a name apart', () => {
    const params = { name: 'שלום' }
    const { text } = errors.describe(
      { code: 'not-unique', message: MESSAGE, params },
      'failures',
      de.problems,
    )
    expect(text).toMatch(/^\u2068שלום\u2069 gibt es bereits/)
  })

  it('are never chosen by a sentence of the server', () => {
    const server = readTypeScript('src')
    const thrown = server.matchAll(
      /(?:RequestError|conflict|forbidden|invalid)\([^)`]*?'([A-Z][^'`]{15,}\.)'/g,
    )
    const sentences = new Set([...thrown].map(([, sentence = '']) => sentence))
    expect(sentences.size).toBeGreaterThan(80)
    // The English texts may be the same as the server's; the API reference is in English alone.
    const pages = readTypeScript('console', /^texts\/(en\/|reference)/)
    expect(pages.length).toBeGreaterThan(100_000)
    expect([...sentences].filter(sentence => pages.includes(sentence))).toEqual([])
  })
})

it.each([
  ['moving', 20, 20],
  ['moving', 0, null],
  ['moving', null, null],
  ['idle', 0, 0],
  ['idle', 20, null],
  ['offline', 20, null],
] as const)('the shown speed of a subject that is %s at %s m/s is %s', (state, speed, said) => {
  expect(readSpeed({ state, speed })).toBe(said)
})
