import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FIELD_TYPES, type Field } from '../../db/schema/flows.ts'
import { checkValue, isAbsent } from '../../src/resources/data/values.ts'
import { signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing } from '../support/database.ts'
import { openServer } from '../support/server.ts'

/** Other seeds find further faults: `SEED=7 npx vitest run test/api/data-values`. */
const SEED = Number(process.env.SEED ?? 1)
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
      { numRuns: 2_000, seed: SEED },
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
      { seed: SEED },
    )
  })
})

describe.each(['postgres', 'pglite'] as const)('An accepted value on %s', kind => {
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
      { numRuns: 80, seed: SEED },
    )
    expect(stored).toBeGreaterThan(10)
    await server.stop()
    await database.remove()
  })
})

const readAs = (type: Field['type'], text: string) =>
  checkValue(fields.find(field => field.type === type) as Field, text)

describe('An e-mail address', () => {
  const read = (text: string) => readAs('email', text)

  it('is any of RFC 5321, and any of RFC 6531', () => {
    fc.assert(
      fc.property(fc.emailAddress(), address => {
        expect(read(address)).toEqual({ value: address })
      }),
      { numRuns: 500, seed: SEED },
    )
    // Most are the addresses with which https://uasg.tech tests software.
    for (const address of `o'@example.com a/b=c@example.com a@xn--e1aybc.xn--p1ai A@sub.B.Example 用户@例子.广告
      अजय@डाटा.भारत квіточка@пошта.укр χρήστης@παράδειγμα.ελ Dörte@Sörensen.example คน@ตัวอย่าง.ไทย مستخدم@مثال.إختبار
      user@bücher.example 🍣@example.com نامه\u200cای@مثال.إختبار ${'é'.repeat(32)}@example.com`.split(/\s+/))
      expect(read(address), address).toEqual({ value: address })
  })

  it('is stored composed, however it was typed', () => {
    const value = 'Dörte@Sörensen.example'
    expect(read(` ${value.normalize('NFD')} `)).toEqual({ value })
  })

  it('is nothing else', () => {
    for (const text of `a @ a@ @b.de a@b a@b. a@.de a..b@c.de .a@c.de a.@c.de a@b@c.de a@[192.0.2.1] a@192.0.2.1 a@0x7f.1 a@b.1
      a@-b.de a@b-.de a@b_c.de a@b.d a@ex%61mple.com a@b.de/c a@b.de:25 a\\@b.de a(b)@c.de a@xn--0.de ä@ \u200e@b.de a\u202eb@c.de
      a\u0000@b.de a\ud800@b.de a@b\u00adc.de ${'a'.repeat(65)}@b.de ${'é'.repeat(33)}@b.de a@${'b'.repeat(64)}.de
      a@${'ü'.repeat(64)}.de a@${'b.'.repeat(125)}com`
      .split(/[ \n]+/)
      .concat(['', 'a b@c.de', '"a b"@c.de', 'a\u3000b@c.de', 'a@b\u00a0c.de', 'a\n@b.de']))
      expect(read(text), JSON.stringify(text)).toMatchObject({ message: 'This has to be an e-mail address.' })
  })
})

it('A time is what the rest of the interface takes as one', () => {
  const time = z.iso.datetime({ offset: true })
  const near = (one: fc.Arbitrary<string>) =>
    fc
      .tuple(one, fc.nat(), fc.constantFrom('', '', 'x', '.', '@', '-', '+', "'", '0', ':', 'Z', ' ', 'é'))
      .map(([text, at, put]) => {
        const cut = at % (text.length + 1)
        return text.slice(0, cut) + put + text.slice(cut + (at % 3))
      })
  const times = fc
    .tuple(fc.date({ noInvalidDate: true }), fc.constantFrom('Z', '+01:00', '-23:59', '+24:00', '+1'))
    .map(([date, zone]) => date.toISOString().replace('Z', zone))
  fc.assert(
    fc.property(near(times), at => {
      // The year 0, and times that are outside of 9999 in UTC, cannot be stored.
      if (!/^(0000|0001-01-01|9999-12-31)/.test(at))
        expect('value' in readAs('datetime', at)).toBe(time.safeParse(at).success)
    }),
    { numRuns: 500, seed: SEED },
  )
})
