import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FIELD_TYPES, type Field } from '../../db/schema/flows.ts'
import { checkValue, isAbsent } from '../../src/data/values.ts'
import { signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing } from '../support/database.ts'
import { openServer } from '../support/server.ts'

const OPTIONS = ['red', 'blue']
const fields: Field[] = FIELD_TYPES.map((type, order) => ({
  key: type,
  label: type,
  type,
  required: false,
  unique: false,
  options: type.endsWith('select') ? OPTIONS : [],
  order,
  dataTypeId: null,
}))

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.date({ noInvalidDate: true }).map(date => date.toISOString()),
  fc.date({ noInvalidDate: true }).map(date => date.toISOString().slice(0, 10)),
  fc.emailAddress(),
  fc.webUrl(),
  fc.constantFrom('', ' ', 'red', '+49 30 1234567', 'nul \0', 'lone \ud800', '2026-02-30', '%', '\\', "'"),
)
const value = fc.oneof(
  text,
  fc.double(),
  fc.boolean(),
  fc.jsonValue(),
  fc.array(fc.constantFrom(...OPTIONS, 'green'), { maxLength: 3 }),
  fc.record({ lat: fc.double({ min: -100, max: 100 }), lng: fc.double({ min: -200, max: 200 }) }),
  fc.record({ lat: fc.constant(1), lng: fc.constant(2), address: text }),
)

describe('The value of a field', () => {
  it('comes to a form that stays as it is, and outlives JSON', () => {
    fc.assert(
      fc.property(fc.constantFrom(...fields), value, (field, given) => {
        if (isAbsent(given)) return
        const checked = checkValue(field, given)
        if ('message' in checked) return
        expect(checkValue(field, checked.value)).toEqual(checked)
        expect(JSON.parse(JSON.stringify(checked.value))).toEqual(checked.value)
      }),
      { numRuns: 2_000 },
    )
  })

  it('is quoted by no message that refuses it', () => {
    const secret = fc.stringMatching(/^zq[0-9]{8}$/)
    fc.assert(
      fc.property(fc.constantFrom(...fields), secret, (field, given) => {
        for (const wrong of [given, [given], { lat: 1, lng: 2, [given]: given }]) {
          const checked = checkValue(field, wrong)
          if ('message' in checked) expect(checked.message).not.toContain(given)
        }
      }),
    )
  })
})

describe.each(['postgres', 'pglite'] as const)('What is accepted on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined

  it('is stored and read back, whatever JSON is sent; nothing is a fault of ours', async context => {
    if (missing) context.skip(missing)
    const database = await createTestDatabase(kind)
    const server = await openServer(database)
    const owner = await signIn(server)
    const type = await owner.post('/data-type', { name: 'Everything', fields })
    expect(type.status, JSON.stringify(type.body)).toBe(201)
    const sent = fc.dictionary(fc.constantFrom(...FIELD_TYPES, '__proto__', 'shoe'), value, { maxKeys: 4 })
    let stored = 0
    await fc.assert(
      fc.asyncProperty(sent, async data => {
        const answer = await owner.post('/data', { dataTypeName: 'Everything', data })
        expect([201, 400], JSON.stringify(answer.body)).toContain(answer.status)
        if (answer.status === 400) return
        stored++
        const read = await owner.get(`/data/${answer.body.data._id}`)
        expect(read.body.data).toEqual(answer.body.data)
      }),
      { numRuns: 80 },
    )
    expect(stored).toBeGreaterThan(10)
    await server.stop()
    await database.remove()
  })
})
