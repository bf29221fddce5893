import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { type Client, signIn } from '../support/client.ts'
import { useExports } from '../support/exports.ts'
import { importFile } from '../support/imports.ts'
import { addOrganization, addPerson } from '../support/people.ts'

/** Other seeds find further faults: `SEED=7 npx vitest run test/api/round-trip`. */
const SEED = Number(process.env.SEED ?? 1)
const OPTIONS = ['a', 'b', 'ab', 'a, b', '[a]', 'Größe (x)', '=1']
const FIELDS = [
  { key: 'code', label: 'Code', type: 'text' },
  { key: 'text', label: 'Name', type: 'text' },
  { key: 'other', label: 'name', type: 'text' },
  { key: 'number', label: 'Number', type: 'number' },
  { key: 'boolean', label: '=Boolean', type: 'boolean' },
  { key: 'date', label: 'Date', type: 'date' },
  { key: 'datetime', label: 'When', type: 'datetime' },
  { key: 'email', label: 'E-mail', type: 'email' },
  { key: 'phone', label: 'Phone', type: 'phone' },
  { key: 'url', label: 'Web', type: 'url' },
  { key: 'select', label: 'One', type: 'select', options: OPTIONS },
  { key: 'multiselect', label: 'Several', type: 'multiselect', options: OPTIONS },
  { key: 'location', label: 'Place', type: 'location' },
  { key: 'reference', label: 'Refers to', type: 'reference' },
]

const isBlank = (text: string) => text.trim() === ''
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }).map(text => text.toWellFormed().replaceAll('\0', '')),
      fc.constantFrom(
        '=1+1',
        '+A1',
        '@SUM(1)',
        '-2',
        "'",
        '"',
        '_x0041_',
        '\r\n',
        '\t',
        ' ',
        '1e5',
        'TRUE',
        '\uffff',
      ),
    ),
    { maxLength: 4 },
  )
  .map(parts => parts.join(''))
const text = anyText.filter(value => !isBlank(value))
const time = (from: string, to: string) =>
  fc.date({ min: new Date(from), max: new Date(to), noInvalidDate: true }).map(date => date.toISOString())
const degrees = (max: number) =>
  fc.oneof(fc.double({ min: -max, max, noNaN: true }), fc.integer({ min: -max, max })).map(value => value + 0)

const record = fc.record(
  {
    text,
    other: text,
    number: fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0),
    boolean: fc.boolean(),
    date: time('0001-01-01', '9999-12-31').map(iso => iso.slice(0, 10)),
    datetime: fc.oneof(
      time('0001-01-02', '9999-12-30'),
      // The hours around which clocks are put forward and back.
      time('2026-10-24T22:00:00Z', '2026-10-25T04:00:00Z'),
      time('2026-03-28T22:00:00Z', '2026-03-29T04:00:00Z'),
    ),
    email: fc.constantFrom('a@example.com', 'A.B+c@example.org'),
    phone: fc.constantFrom('0049 30', '+4930123456789', '00491234', '(030) 1-2 ext. 5'),
    url: fc.constantFrom('https://example.com/?a=1&b=<>', 'HTTP://EXAMPLE.com'),
    select: fc.constantFrom(...OPTIONS),
    multiselect: fc.uniqueArray(fc.constantFrom(...OPTIONS)),
    location: fc.oneof(
      fc.record({ lat: degrees(90), lng: degrees(180) }),
      fc.record({ lat: degrees(90), lng: degrees(180), address: text }),
    ),
  },
  { requiredKeys: [] },
)

/** The export of one organization is imported into another, and exported from there: nothing has changed. */
describe('A round trip', () => {
  const { server, owner, download, whenDone } = useExports()
  let other: Client

  const addTypes = async (client: Client) => {
    const names = [{ key: 'no', label: 'No', type: 'text' }]
    const target = await client.post('/data-type', {
      name: `Target ${newId()}`,
      primaryKey: 'no',
      fields: names,
    })
    expect(target.status, JSON.stringify(target.body)).toBe(201)
    const dataTypeId = target.body.data._id
    const made = await client.post('/data', { dataTypeId, data: { no: 'T-1' } })
    const fields = FIELDS.map(field => (field.type === 'reference' ? { ...field, dataTypeId } : field))
    const type = await client.post('/data-type', { name: `All ${newId()}`, primaryKey: 'code', fields })
    expect(type.status, JSON.stringify(type.body)).toBe(201)
    return { typeId: type.body.data._id as string, targetId: made.body.data._id as string }
  }

  beforeAll(async () => {
    const founder = await addPerson(server, await signIn(server), { role: 'Admin' })
    other = (await addOrganization(server, founder.client)).client
    for (const client of [owner, other])
      await client.patch('/organization', { timeZone: 'Europe/Berlin', language: 'en' })
  })

  it.each(['xlsx', 'json'])('through %s leaves every value of every type as it was', async format => {
    const here = await addTypes(owner)
    const samples = fc.sample(record, { numRuns: 60, seed: SEED })
    const sent = []
    for (const [at, sample] of samples.entries()) {
      const reference = format === 'xlsx' && at % 2 === 0 ? { reference: here.targetId } : {}
      const data = { code: `C${at}`, ...sample, ...reference }
      const answer = await owner.post('/data', { dataTypeId: here.typeId, data })
      expect(answer.status, JSON.stringify([data, answer.body])).toBe(201)
      sent.push(answer.body.data.data)
    }
    const there = await addTypes(other)
    // There are more records than an export answers directly.
    const ordered = await owner.post('/data/export', { dataTypeId: here.typeId, format })
    const path = `/tasks/export-log/${ordered.body.data._id}`
    await whenDone(ordered.body.data._id)
    const { bytes } = await download(owner, `${path}/file`)
    const done = await importFile(server, other, bytes, { dataTypeId: there.typeId }, `all.${format}`)
    expect([done.status, done.failures]).toEqual(['completed', []])
    const again = await other.post('/data/export', { dataTypeId: there.typeId, format: 'json' })
    const backPath = `/tasks/export-log/${again.body.data._id}`
    await whenDone(again.body.data._id, other)
    const back = JSON.parse((await download(other, `${backPath}/file`)).bytes.toString())
    const found = back.map(({ data }: { data: { reference?: string } }) =>
      data.reference === undefined
        ? data
        : { ...data, reference: data.reference === there.targetId && here.targetId },
    )
    expect(found).toEqual(sent)
  })

  it('through json, which names records by their _id, leaves references as they were in their organization', async () => {
    const { typeId, targetId } = await addTypes(owner)
    const fields = [FIELDS[0], { key: 'reference', label: 'Refers to', type: 'reference' }]
    const copy = await owner.post('/data-type', { name: `Copy ${newId()}`, primaryKey: 'code', fields })
    const sent = [{ code: 'A', reference: targetId }, { code: 'B' }]
    for (const data of sent)
      expect((await owner.post('/data', { dataTypeId: typeId, data })).status).toBe(201)
    const exportOf = async (dataTypeId: string) =>
      (await download(owner, '/data/export', { dataTypeId, format: 'json', fields: ['code', 'reference'] }))
        .bytes
    const dataTypeId = copy.body.data._id
    const done = await importFile(server, owner, await exportOf(typeId), { dataTypeId }, 'some.json')
    expect([done.status, done.failures]).toEqual(['completed', []])
    const back = JSON.parse((await exportOf(dataTypeId)).toString())
    expect(back.map(({ data }: { data: object }) => data)).toEqual(sent)
  })
})
