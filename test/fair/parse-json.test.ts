import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { measureJson, parseJson } from '../../fair/parse-json.ts'
import { atOnce } from '../../fair/scheduler.ts'

/** What a reader makes of a text, with the order of keys; or that it refuses it. */
function outcomeOf(read: () => unknown): string {
  try {
    return describeValue(read())
  } catch (error) {
    if (error instanceof SyntaxError) return 'refused'
    throw error
  }
}

/** Unlike JSON, this tells -0 from 0 and a prototype from a key `__proto__`. */
function describeValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(describeValue)}]`
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : JSON.stringify(value)
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}:${describeValue(one)}`)}}`
}

const expectSame = (text: string, pieceBytes: number) => {
  const bytes = Buffer.from(text)
  const read = () => atOnce(parseJson(bytes, measureJson(bytes, undefined, pieceBytes)))
  expect([text, outcomeOf(read)]).toEqual([text, outcomeOf(() => JSON.parse(text))])
}

const pieces = fc.integer({ min: 0, max: 24 })
/** Marks that make or break the shape of a text, and little else, so that many random texts are nearly JSON. */
const mark = fc.constantFrom(
  ...'[]{},:"\\ 10-',
  '\n',
  '\u00a0',
  'ä',
  '"a":',
  '"__proto__":',
  'null',
  '[]',
  '{}',
)

describe('JSON parsed in steps', () => {
  it('is that of JSON.parse, whatever the value, its spaces and the size of a piece', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.integer({ min: 0, max: 3 }),
        pieces,
        (value, indent, size) => expectSame(JSON.stringify(value, null, indent), size),
      ),
      { numRuns: 1_000 },
    )
  })

  it('refuses the texts that JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.array(mark, { maxLength: 14 }), pieces, (marks, size) =>
        expectSame(marks.join(''), size),
      ),
      { numRuns: 5_000 },
    )
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.nat({ max: 3 }), mark, pieces, (text, at, cut, put, size) => {
        const place = at % (text.length + 1)
        expectSame(text.slice(0, place) + put + text.slice(place + cut), size)
      }),
      { numRuns: 3_000 },
    )
  })

  it.each([
    '{"a":1,"b":2,"a":[3,4,5,6,7,8],"__proto__":{"x":[1,2,3,4]},"__proto__":[5,6,7,8,9]}',
    '{"2":[1,2,3,4,5],"b":[1,2,3,4,5],"1":[1,2,3,4,5]}',
    '{"a":1[1,2,3,4,5]}',
    '{"a"[1,2,3,4,5]}',
    '[1[1,2,3,4,5]]',
    '[[1,2,3,4,5]1]',
    '[1,2,3,4,5,6,]',
    '[[1,2,3,4,5],]',
    '[,[1,2,3,4,5]]',
    '[1,2,3] [1,2,3,4,5]',
    '[          ]',
    '{          }',
    '[1,2,3,4,5}',
    '[{"a":1},{"a":2},{"a":3},{"a":"},"},{"a":[{"b":1},{"b":2}]},{"a":4}]',
    '[{"a":1},{"a":2},{"a":3},]',
    '{"a":{"b":1},"c":{"d":1},"a":{"e":1},"__proto__":{"f":1},"g":1}',
    '"[1,2,3,4,5]',
    '["\\"","\\\\","]"," [",1,2,3]',
  ])('is that of JSON.parse: %s', text => {
    for (let size = 0; size <= 8; size++) expectSame(text, size)
  })

  it('takes steps of few bytes, however deep a text is', () => {
    const point = (at: number) => `{${Array.from({ length: 20 }, (_, key) => `"${at}_${key}":1`)}}`
    const points = Array.from({ length: 5_000 }, (_, at) => point(at)).join(',')
    for (const text of [
      `[${points}]`,
      `{"points":[${points}]}`,
      `${'['.repeat(9_000)}${points}${']'.repeat(9_000)}`,
    ]) {
      const steps = parseJson(Buffer.from(text))
      let count = 0
      while (!steps.next().done) count++
      expect(count).toBeGreaterThan(text.length / 32_768)
    }
  })
})
