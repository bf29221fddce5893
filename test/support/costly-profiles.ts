import type { Choices, Source } from '../../db/schema/tracker-profiles.ts'
import { compileProfile } from '../../ingest/profiles/own/compile.ts'
import type { ProfileReader, TrackerMessage } from '../../ingest/profiles/profile.ts'

export const source = (...from: string[]): Source => ({
  from,
  json: null,
  split: null,
  unit: null,
  absent: [],
})
export const message = (payload: unknown): TrackerMessage => ({
  payload: Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
  topic: 'a/b/c',
  clientId: null,
  username: null,
  query: null,
})

/** The parts from which the search makes profiles and messages. */
const PATHS = [
  '$.payload[*][*][*][*].none',
  `$.payload${'[*,*,*,*]'.repeat(20)}.none`,
  `$.payload[?${'@.a==1||'.repeat(28)}@.a==2]`,
  `$.payload[?${'1==2||'.repeat(38)}1==2]`,
  '$.payload[?@[?@[?@[?@[?@[?@.none]]]]]]',
  `$.payload[${'0:9,'.repeat(50)}0:9].none`,
  `$.payload[${'::-1,'.repeat(40)}::1].none`,
  '$.payload[*].text',
  '$.payload.text',
  '$.payload.o[*]',
  '$.payload.o[?@.none]',
  `$.payload[${"'text',".repeat(30)}'text'].none`,
  `$.payload.text[*]`,
  `$.payload[?@.text<'${'x'.repeat(200)}']`,
  '$.item[*,*,*].none',
  '$.item.text',
  '$.item[?@==1]',
]
const BYTES = 250_000
const fill = (make: (index: number) => string, open: string, close: string) => {
  const parts: string[] = []
  for (let length = 0, index = 0; length < BYTES; index++) {
    const part = make(index)
    length += part.length + 1
    parts.push(part)
  }
  return `${open}${parts.join(',')}${close}`
}
const long = 'x'.repeat(BYTES)
const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)
const PAYLOADS = [
  fill(() => '{"a":3}', '[', ']'),
  fill(index => `"k${index}":${index}`, '{"o":{', '}}'),
  fill(index => `"k${index}":{"text":"${'y'.repeat(200)}"}`, '{', '}'),
  JSON.stringify({ text: long }),
  JSON.stringify({ text: ','.repeat(BYTES) }),
  JSON.stringify({ text: nested('[', ']', BYTES / 2) }),
  JSON.stringify({ text: `${'{\\"\\":'.repeat(1)}${'[0],'.repeat(BYTES / 4)}` }),
  JSON.stringify({ text: `[${'0,'.repeat(BYTES / 2)}0]` }),
  JSON.stringify({ text: fill(index => `"k${index}":0`, '{', '}').replace(/^(.{120000}).*$/s, '$1') }),
  nested('[', ']', 100_000),
  fill(() => nested('[', ']', 100), '[', ']'),
  fill(() => `{"text":"${'x'.repeat(180)}"}`, '[', ']'),
  JSON.stringify({ o: new Array(1000).fill({ text: 'z'.repeat(200), a: [1, [2, [3]]] }) }),
  JSON.stringify(new Array(8).fill(new Array(8).fill(new Array(8).fill(new Array(8).fill(1))))),
]
const EACH = [null, '$.payload', '$.payload.o', '$.payload[0]']
const MORE: Partial<Source>[] = [
  {},
  { json: { path: '$[*][*].none' } },
  { json: { path: `$[?${'@.a==1||'.repeat(20)}@.b]` } },
  { split: { by: ',', index: 255 } },
  { split: { by: 'xx', index: 255 } },
  { absent: Array.from({ length: 16 }, (_, index) => index - 0.5) },
  { unit: 'YYYY-MM-DDTHH:mm:ss' },
]

/** A small generator of its own, so that a search can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export interface Costly {
  reader: ProfileReader
  payload: string
  /** Processor time, with parsing its JSON, and for the parsing alone. */
  micros: number
  parsingMicros: number
}

function microsOf(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Profiles and messages that a valid request may consist of, the most expensive first. */
export function searchCostly(tries: number, seed = 1): Costly[] {
  const random = createRandom(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const found: Costly[] = []
  for (let index = 0; index < tries; index++) {
    const each = pick(EACH)
    const usable = PATHS.filter(path => each !== null || !path.startsWith('$.item'))
    // One path in many sources costs as much as many paths; 64 is the most.
    const same = random() < 0.5 ? pick(usable) : null
    const many = (count: number): Source => ({
      ...source(...Array.from({ length: count }, () => same ?? pick(usable))),
      ...pick(MORE.filter(({ unit }) => unit === undefined)),
    })
    const choices: Choices = {
      topic: '#',
      each,
      when: Array.from({ length: 4 }, () => ({ from: same ?? pick(usable), is: 'not', value: 'never' })),
      device: many(4),
      fields: {
        lat: many(4),
        lng: many(4),
        timestamp: { ...many(4), ...pick(MORE) },
        speed: many(4),
        heading: many(4),
        accuracy: many(4),
        altitude: many(4),
        battery: many(4),
      },
      attributes: Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`a${at}`, many(1)])),
    }
    const payload = pick(PAYLOADS)
    try {
      const reader = compileProfile(choices)
      const given = message(payload)
      found.push({
        reader,
        payload,
        parsingMicros: microsOf(() => tryParse(payload)),
        micros: microsOf(() => reader.read(given, 0)),
      })
    } catch (error) {
      // More than 64 paths with those of `json`.
      if (!/at most 64 paths/.test(String(error))) throw error
    }
  }
  return found.sort((one, other) => other.micros - one.micros)
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
