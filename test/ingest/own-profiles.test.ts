import { describe, expect, it } from 'vitest'
import type { Choices, Source } from '../../db/schema/tracker-profiles.ts'
import { NoPoint, type RawFix } from '../../ingest/formats/format.ts'
import { compileProfile } from '../../ingest/profiles/own/compile.ts'
import { ProfileFault } from '../../ingest/profiles/own/fault.ts'
import { message, searchCostly, source } from '../support/costly-profiles.ts'
import { leastUsualMs, processorMs } from '../support/processor-time.ts'

const NOW = 1_795_164_850_000
const choices = (
  more: Partial<Omit<Choices, 'fields'>> & { fields?: Partial<Choices['fields']> } = {},
): Choices => ({
  topic: '#',
  each: null,
  when: [],
  device: null,
  attributes: {},
  ...more,
  fields: {
    lat: source('$.payload.lat'),
    lng: source('$.payload.lng'),
    ...{ timestamp: null, speed: null, heading: null, accuracy: null, altitude: null, battery: null },
    ...more.fields,
  },
})
const read = (given: Choices, payload: unknown, more: object = {}) =>
  compileProfile(given).read({ ...message(payload), ...more }, NOW)
const fixOf = (given: Choices, payload: unknown, more: object = {}): RawFix => {
  const [position] = read(given, payload, more).positions
  if (!position || position.fix instanceof NoPoint) throw new Error(`No fix: ${JSON.stringify(position)}`)
  return position.fix
}
/** The value that a source reads as an attribute. */
const attributeOf = (from: Source, payload: object, more: object = {}) =>
  (
    fixOf(choices({ attributes: { value: from } }), { lat: 1, lng: 2, ...payload }, more).attributes as {
      value?: unknown
    } | null
  )?.value

describe('A profile of choices', () => {
  it.each([
    ['a hundred signs of negation', `${'!'.repeat(100)}(@.x)`],
    ['twenty-four alternatives', Array(24).fill('@.x').join(' || ')],
  ])('counts the steps of a filter with %s', (_, condition) => {
    const costly = choices({ attributes: { value: source(`$.payload.a[?${condition}]`) } })
    const a = Array.from({ length: 5_000 }, () => ({}))
    expect(read(costly, { lat: 1, lng: 2, a }).unreadable?.message).toContain('steps')
    expect(read(costly, { lat: 1, lng: 2, a: a.slice(0, 100) }).unreadable).toBeNull()
  })

  it.each<[string, unknown]>([
    ["$.payload['a.b']['c\\'d']", 1],
    ['$.payload.list[1].v', 20],
    ['$.payload.list[-1].v', 30],
    ['$.payload.list[1:].v', 20],
    ['$.payload.list[::-1].v', 30],
    ['$.payload.list[*].only', 'here'],
    ['$.payload.list[?@.v>10 && @.v<=20].v', 20],
    ['$.payload.list[?@.v==99 || !(@.v!=30)].v', 30],
    ["$.payload.list[?@.name>='b' && @.name<'c'].v", 20],
    ['$.payload.list[?@.only].v', 30],
    ['$.payload.list[?@.tags[?@==5]].v', 10],
    ['$.payload.list[0,2].only', 'here'],
    ['$.payload.nothing', undefined],
    ['$.payload.constructor.name', undefined],
    ['$.payload.list.length', undefined],
    ['$.topic[1]', 'b'],
    ['$.clientId', 'client'],
    ['$.username', 'user'],
    ['$.query.id', 'q'],
  ])('reads %s', (path, expected) => {
    const list = [
      { v: 10, name: 'a', tags: [4, 5] },
      { v: 20, name: 'b' },
      { v: 30, name: 'c', only: 'here' },
    ]
    const more = { topic: 'a/b', clientId: 'client', username: 'user', query: { id: 'q' } }
    expect(attributeOf(source(path), { 'a.b': { "c'd": 1 }, list }, more)).toBe(expected)
  })

  it('takes the first path that holds something, and passes over what stands for nothing', () => {
    const from = { ...source('$.payload.a', '$.payload.b', '$.payload.c'), absent: [-1, 'n/a'] }
    for (const nothing of [null, '', 'null', 'nil', -1, '-1', '-1.0', 'n/a'])
      expect(attributeOf(from, { a: nothing, b: nothing, c: 0 })).toBe(0)
    expect(attributeOf(from, { a: false, b: 1 })).toBe(false)
    expect(attributeOf(from, { a: 'null', b: 'nil' })).toBeUndefined()
  })

  it('reads texts that hold JSON, and parts of texts', () => {
    const inner = { ...source('$.payload.text'), json: { path: '$.a[1]' } }
    expect(attributeOf(inner, { text: '{"a":[1,2]}' })).toBe(2)
    expect(attributeOf(inner, { text: '{"a":[' })).toBeUndefined()
    const part = { ...source('$.payload.text'), split: { by: ',', index: 1 } }
    expect(attributeOf(part, { text: '1, 2 ,3' })).toBe('2')
    expect(attributeOf(part, { text: '1' })).toBeUndefined()
    const line = choices({
      fields: {
        lat: { ...source('$.payload'), split: { by: ';', index: 0 } },
        lng: { ...source('$.payload'), split: { by: ';', index: 1 } },
      },
    })
    expect(fixOf(line, '52.5;13.4')).toMatchObject({ lat: 52.5, lng: 13.4, timestamp: NOW })
  })

  it.each<[keyof Choices['fields'], string | null, unknown, unknown]>([
    ['lat', 'deg1e7', 525200000, 52.52],
    ['lat', 'deg1e6', '52520000', 52.52],
    ['lng', 'deg1e5', 5252000, 52.52],
    ['lng', 'rad', Math.PI / 4, 45],
    ['speed', 'km/h', '54', 15],
    ['speed', 'mph', 10, 4.4704],
    ['speed', 'kn', 10, 5.1444],
    ['speed', 'cm/s', 250, 2.5],
    ['heading', 'deg1e2', 27150, 271.5],
    ['heading', 'deg1e5', 13350000, 133.5],
    ['altitude', 'ft', 100, 30.48],
    ['accuracy', 'cm', 550, 5.5],
    ['battery', 'fraction', 0.79, 79],
    ['battery', null, '79', 79],
    ['timestamp', 's', '1795164850.5', 1_795_164_850_500],
    ['timestamp', 'ms', 1_795_164_850_500, 1_795_164_850_500],
    ['timestamp', null, '2026-11-20T08:54:10.123456789Z', '2026-11-20T08:54:10.123456789Z'],
    ['timestamp', 'DD.MM.YYYY HH:mm', '20.11.2026 08:54', '2026-11-20T08:54:00Z'],
    ['timestamp', 'YYYYMMDDHHmmss', 20261120085410, '2026-11-20T08:54:10Z'],
    ['timestamp', 'YYYYMMDDHHmmss', 'today', null],
  ])('converts a %s in %s: %s', (field, unit, value, expected) => {
    const fields = { [field]: { ...source('$.payload.v'), unit } }
    const found = fixOf(choices({ fields }), { lat: 1, lng: 2, v: value })[field]
    expect(found).toEqual(typeof expected === 'number' ? expect.closeTo(expected, 4) : expected)
  })

  it('says of each message and each element why it has no position by design', () => {
    const given = choices({
      each: '$.payload.all',
      when: [
        { from: '$.topic[1]', is: 'oneOf', value: ['gnss', 'gps'] },
        { from: '$.item.fix', is: 'not', value: false },
        { from: '$.item.mode', is: 'equals', value: 3 },
        { from: '$.item.lat', is: 'exists' },
        { from: '$.item.old', is: 'missing' },
      ],
      fields: { lat: source('$.item.lat'), lng: source('$.item.lng') },
    })
    const good = { lat: '1', lng: 2, mode: '3', fix: 'true' }
    const all = [
      good,
      { ...good, fix: 'false' },
      { ...good, mode: 2 },
      { ...good, lat: '' },
      { ...good, old: 0 },
      { ...good, fix: undefined },
    ]
    expect(read(given, { all }, { topic: 'a/gps' }).positions.map(({ index }) => index)).toEqual([0, 5])
    const other = read(given, { nothing: 1 }, { topic: 'a/motion' })
    expect(other).toMatchObject({
      positions: [],
      unreadable: null,
      skipped: expect.stringContaining('$.topic[1] is none of "gnss", "gps"'),
    })
    expect(read(given, { all: [{ ...good, mode: 1 }] }, { topic: 'a/gps' }).skipped).toContain(
      '$.item.mode is not 3',
    )
    expect(read(given, { nothing: 1 }, { topic: 'a/gps' }).unreadable).toMatchObject({ reason: 'bad-shape' })
  })

  it.each<[string, (string | number)[], object]>([
    ['a descendant', ['fields', 'lat', 'from', 0], { fields: { lat: source('$.payload..lat') } }],
    ['a descendant at its beginning', ['each'], { each: '$..payload' }],
    ['a function', ['fields', 'lat', 'from', 0], { fields: { lat: source('$.payload[?length(@.a)>1]') } }],
    [
      'a comparison of two values',
      ['device', 'from', 1],
      { device: source('$.clientId', '$.payload[?@.a==@.b]') },
    ],
    ['a filter on the whole', ['each'], { each: '$.payload[?$.payload.a]' }],
    ['another root', ['fields', 'lng', 'from', 0], { fields: { lng: source('$.body.lng') } }],
    ['an item without a list', ['when', 0, 'from'], { when: [{ from: '$.item.a', is: 'exists' }] }],
    ['no path', ['attributes', 'a', 'from', 0], { attributes: { a: source('$.payload[') } }],
    [
      'a long path',
      ['attributes', 'a', 'from', 0],
      { attributes: { a: source(`$.payload.${'a'.repeat(256)}`) } },
    ],
    ['too many paths', [], { device: source(...Array.from({ length: 63 }, () => '$.payload.a')) }],
    [
      'a unit of something else',
      ['fields', 'speed', 'unit'],
      { fields: { speed: { ...source('$.payload.a'), unit: 'deg' } } },
    ],
    ['a unit of a text', ['device', 'unit'], { device: { ...source('$.payload.a'), unit: 'm' } }],
    [
      'a pattern of no time',
      ['fields', 'timestamp', 'unit'],
      { fields: { timestamp: { ...source('$.payload.a'), unit: 'HH:mm' } } },
    ],
    [
      'a text for JSON that is no path',
      ['device', 'json', 'path'],
      { device: { ...source('$.payload.a'), json: { path: 'a' } } },
    ],
    ['no value to compare with', ['when', 0, 'value'], { when: [{ from: '$.payload.a', is: 'equals' }] }],
    ['a filter that is none', ['topic'], { topic: 'a/#/b' }],
  ])('is refused with its place: %s', (_what, where, more) => {
    const compile = () => compileProfile(choices(more))
    expect(compile).toThrow(ProfileFault)
    try {
      compile()
    } catch (error) {
      expect((error as ProfileFault).where).toEqual(where)
    }
  })

  it('that was made to be expensive has its end: each of 48 that a search finds', async () => {
    const found = searchCostly(60)
    expect(found.length).toBeGreaterThanOrEqual(48)
    // A bystander waits a quarter of a second of the usual machine at most.
    for (const { reader, payload } of found.filter(({ micros }) => micros > 250_000)) {
      const again = () => processorMs(() => reader.read(message(payload), 0))
      expect(await leastUsualMs(250, again), payload.slice(0, 60)).toBeLessThan(250)
    }
    expect(
      found.some(({ reader, payload }) =>
        reader.read(message(payload), 0).unreadable?.message.includes('steps'),
      ),
    ).toBe(true)
  })
})
