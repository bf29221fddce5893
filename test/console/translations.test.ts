import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { readSpeed } from '../../console/pages/map/speed.ts'
import { de } from '../../console/texts/de/de.ts'
import { translate } from '../../console/texts/translate.ts'
import { useOwnSentences } from '../../src/http/validation.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SRC = join(ROOT, 'src')
const read = (folder: string): string =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => readFileSync(join(ROOT, folder, file), 'utf8'))
    .join('\n')
const points = read('ingest') + read('stream')
const source = read('src') + points

/** The server's sentence about a value that does not fit a schema. */
function say(schema: z.ZodType, value: unknown): string {
  useOwnSentences()
  return schema.safeParse(value).error?.issues[0]?.message ?? ''
}

const GENERAL = [
  say(z.string(), undefined),
  say(z.string().min(1), ''),
  say(z.string().min(3), 'a'),
  say(z.string().max(3), 'abcd'),
  say(z.array(z.string()).min(2), ['a']),
  say(z.array(z.string()).max(1), ['a', 'b']),
  say(z.number(), 'a'),
  say(z.number(), null),
  say(z.int(), 1.5),
  say(z.number().min(-90), -91.25),
  say(z.number().max(90), 91),
  say(z.number().gt(0), 0),
  say(z.number().lt(1), 1),
]

it('the server’s general sentences are translated into German, with their numbers', () => {
  for (const sentence of GENERAL) {
    const said = translate(sentence, de.server)
    expect(said, sentence).toBeDefined()
    expect(said?.match(/-?\d+/g)).toEqual(sentence.match(/-?\d+/g))
  }
  expect(translate('2: This has to be at least -90.', de.server)).toBe('2: Muss mindestens -90 sein.')
  expect(translate('Nobody says this.', de.server)).toBeUndefined()
})

it.each(['Nord', '2', 'team named $ already.', '$&'])('a name in a sentence is not translated: %s', name => {
  expect(translate(`There is a team named ${name} already.`, de.server)).toBe(
    `Ein Team namens ${name} gibt es bereits.`,
  )
  expect(translate('There is a team named  already.', de.server)).toBeUndefined()
})

it('every translated sentence is one of the server', () => {
  const general = new Set(GENERAL.map(sentence => sentence.replace(/-?\d+(\.\d+)?/g, '#')))
  const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const written = (sentence: string) =>
    new RegExp(sentence.split(/[#$]/).map(literally).join('(?:-?\\d+|\\$\\{.+?\\})')).test(source)
  // unique(`team named ${name}`, …)
  const isTaken = (sentence: string) =>
    written(`unique(\`${/^There is an? (.+) already\.$/.exec(sentence)?.[1] ?? '…'}\``)
  // `There is no such ${what}.`
  const isMissing = (sentence: string) => /^There is no such [a-z ]+\.$/.test(sentence)
  const isSaid = (sentence: string) =>
    general.has(sentence) || written(sentence) || isTaken(sentence) || isMissing(sentence)
  const unknown = Object.keys(de.server).filter(sentence => !isSaid(sentence))
  expect(unknown).toEqual([])
})

/** The files whose errors the pages can show: their resources, and the access checks. */
const REFUSING = [
  'hubs',
  'devices',
  'vehicles',
  'teams',
  'geofences',
  'geofence-events',
  'tracking-links',
].flatMap(resource =>
  readdirSync(join(SRC, 'resources', resource)).map(file => join('resources', resource, file)),
)
REFUSING.push('resources/auth/routes.ts', 'http/plugins/authentication.ts', 'http/reauthorize.ts')

it('every error that the pages can show is translated into German', () => {
  const sentences = REFUSING.flatMap(file => {
    const written = readFileSync(join(SRC, file), 'utf8')
    const thrown = written.matchAll(/(?:conflict|forbidden|invalid)\([^)]*?(['`])([A-Z][^'`]+\.)\1\)/g)
    const missing = written.matchAll(/found\('([^']+)'/g)
    const inNone = written.matchAll(/'(This account is not active [^']+)'/g)
    return [
      ...[...thrown].map(([, , sentence = '']) =>
        sentence.replace(/\$\{MAX_\w+\}/g, '7').replace(/\$\{.+?\}/g, 'x'),
      ),
      ...[...missing].map(([, what]) => `There is no such ${what}.`),
      ...[...inNone].map(([, sentence = '']) => sentence),
    ]
  })
  expect(sentences.length).toBeGreaterThan(20)
  // The pages change no password, send no device keys, and show nothing of a session that cannot be renewed.
  const unsaid = new Set(sentences.filter(sentence => translate(sentence, de.server) === undefined))
  expect([...unsaid]).toEqual([
    'This is not the present password.',
    'The session lasts for more than four hours from now: renew it in its last four.',
    'A session lasts at most 30 days: sign in again.',
    'There is no such account.',
    'A device key opens only the routes that accept points.',
    'Apps sign in here with the key of a device.',
  ])
})

it('every reason for a rejected point is translated into German', () => {
  const literals = points.matchAll(/(?:NoPoint\(|reject\(\w+,)\s*'[a-z-]+',\s*(['`])([^'`]+)\1/g)
  const sentences = [...literals].map(([, , sentence = '']) => sentence.replace(/\$\{.+?\}/g, '7'))
  expect(sentences).toContain('The point cannot be stored.')
  expect(sentences).toContain('The payload is not JSON in UTF-8.')
  expect(sentences.length).toBe([...points.matchAll(/new NoPoint\(|\breject\(\w+, '[a-z]+',/g)].length)
  expect(sentences.filter(sentence => translate(sentence, de.server) === undefined)).toEqual([])
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
