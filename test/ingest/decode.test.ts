import { describe, expect, it } from 'vitest'
import { decode, MAX_POINTS } from '../../ingest/decode.ts'
import { FORMATS } from '../../ingest/formats/table.ts'
import { leastUsualMs, processorMs } from '../support/processor-time.ts'

const NAMES = Object.keys(FORMATS) as (keyof typeof FORMATS)[]
const arrival = { subject: 1, receivedAt: Date.now(), topic: 'a topic' }
const read = (format: keyof typeof FORMATS, text: string) =>
  decode(FORMATS[format], Buffer.from(text), arrival)
const PACKET = 256 * 1024

describe.each(NAMES)('A message in the format %s', format => {
  it('of more than 1,000 points is one rejection, whatever they are', () => {
    for (const value of ['0', '{}', '{"_type":"location"}', '[]', 'null']) {
      const many = (count: number) => read(format, `[${Array(count).fill(value)}]`)
      // OsmAnd's format skips empty values, which are heartbeats.
      const isHeartbeat = format === 'osmand' && value === '{}'
      expect(many(MAX_POINTS)).toHaveLength(isHeartbeat ? 0 : MAX_POINTS)
      expect(many(MAX_POINTS + 1)).toMatchObject([{ kind: 'rejection', reason: 'too-many', index: null }])
    }
  })

  it.each([
    ['130,000 zeros', `[${Array(PACKET / 2 - 1).fill(0)}]`],
    ['130,000 brackets', '['.repeat(PACKET / 2) + ']'.repeat(PACKET / 2)],
    ['1,000 lists nested 120 deep', `[${Array(1000).fill('['.repeat(120) + ']'.repeat(120))}]`],
    [
      'one fix nested 40,000 deep',
      `{"_type":"location","lat":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`,
    ],
    ['a number of 256 KiB', '9'.repeat(PACKET)],
    [
      'a fix whose time is a text of 256 KiB',
      `{"_type":"location","lat":1,"lon":1,"tst":"${'9'.repeat(PACKET)}"}`,
    ],
    ['one object of 20,000 keys', `{${Array.from({ length: 20_000 }, (_, n) => `"${n}":[0]`)}}`],
    ['escapes', `["${'\\ud800'.repeat(40_000)}"]`],
  ])('is read in less than a tenth of a second of the usual machine: %s', async (_name, text) => {
    const measure = () => processorMs(() => read(format, text))
    expect(await leastUsualMs(100, measure)).toBeLessThan(100)
  })
})

describe('A key that an app was given in the wrong field', () => {
  const key = `fld_${'Ab-_9'.repeat(8)}xyz`

  it.each([
    ['in a point', `{"deviceId":"${key}","lat":91}`],
    ['in what is no JSON', `id=${key}&lat=1`],
    ['cut off at the end of what is kept', `${'x'.repeat(1_000)} ${key}`],
  ])('stands in no rejection: %s', (_where, text) => {
    const topic = `owntracks/${key}/phone`
    const arrival = { subject: 1, receivedAt: Date.now(), topic }
    const [rejection] = decode(FORMATS.native, Buffer.from(text), arrival)
    expect(rejection).toMatchObject({ kind: 'rejection', topic: 'owntracks/fld_…/phone' })
    expect(JSON.stringify(rejection)).toContain('fld_…')
    expect(JSON.stringify(rejection)).not.toContain(key.slice(4, 14))
  })
})
