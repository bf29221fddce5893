import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { read, type WorkBook } from '@e965/xlsx'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { readDataStep } from '../../db/queries/data-in-steps.ts'
import { useExports } from '../support/exports.ts'
import { hold } from '../support/hold.ts'
import { addPerson } from '../support/people.ts'
import { until } from '../support/wait.ts'

const TYPES = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  json: 'application/json; charset=utf-8',
}
const FIELDS = [
  { key: 'code', label: 'Code', type: 'text' },
  { key: 'note', label: '=Note', type: 'text' },
  { key: 'revenue', label: 'Revenue', type: 'number' },
  { key: 'vip', label: 'VIP', type: 'boolean' },
  { key: 'since', label: 'Since', type: 'date' },
  { key: 'called', label: 'Called', type: 'datetime' },
  { key: 'email', label: 'E-mail', type: 'email' },
  { key: 'phone', label: 'Phone', type: 'phone' },
  { key: 'web', label: 'Web', type: 'url' },
  { key: 'size', label: 'Size', type: 'select', options: ['S', 'L'] },
  { key: 'tags', label: 'Tags', type: 'multiselect', options: ['a', 'b', 'a, b'] },
  { key: 'place', label: 'Place', type: 'location' },
]
const FULL = {
  code: 'C1',
  note: '=HYPERLINK("http://evil.example","x")',
  revenue: -12.5,
  vip: false,
  since: '2026-11-21',
  called: '2026-07-01T10:00:00.250Z',
  email: 'a@example.com',
  phone: '+4930123456789',
  web: 'https://example.com/?a=1&b=<2>',
  size: 'L',
  tags: ['a', 'b'],
  place: { lat: 52.5, lng: 13.4, address: 'Am Markt 1 (links), Köln' },
}

describe('Exports', () => {
  const {
    server,
    database,
    db,
    owner,
    organizationId,
    addType,
    addMany,
    removeMany,
    passHour,
    whenDone,
    download,
  } = useExports()
  let typeId: string

  beforeAll(async () => {
    await owner.patch('/organization', { timeZone: 'Europe/Berlin' })
    typeId = await addType('Customers: all?', FIELDS)
    for (const data of [
      FULL,
      { code: 'C2', note: ' \t<&"\'>\r_x0041_\n\u0001\u007f\u{1f600} ' },
      { code: 'C3' },
    ])
      expect((await owner.post('/data', { dataTypeId: typeId, data })).status).toBe(201)
  })

  const exportAll = (format: string, more: object = {}, client = owner) =>
    download(client, '/data/export', { dataTypeId: typeId, format, ...more })
  const exportJson = async (more: object = {}, client = owner) =>
    JSON.parse((await exportAll('json', more, client)).bytes.toString())
  it('are one export under an Idempotency-Key, of which the taking is written down once an hour, and 409 with another body', async () => {
    const taken = async () => {
      const logs = (await owner.get('/tasks/export-log')).body.pagination.total
      return [logs, (await owner.get('/audit-log?action=export')).body.pagination.total]
    }
    for (const [path, body, other] of [
      ['/data/export', { dataTypeId: typeId, format: 'json' }, { dataTypeId: typeId, format: 'xlsx' }],
      ['/tasks/export', { format: 'json' }, { format: 'json', filter: { status: 'x' } }],
    ] as const) {
      const headers = { 'idempotency-key': newId() }
      const before = await taken()
      const first = await owner.post(path, body, headers)
      const again = await owner.post(path, body, headers)
      expect([first.status, again.status, again.body]).toEqual([200, 200, first.body])
      expect((await owner.post(path, other, headers)).status).toBe(409)
      const more = async () => (await taken()).map((count, at) => count - before[at])
      expect(await more()).toEqual([1, 2])
      for (let n = 0; n < 3; n++) expect((await owner.post(path, body, headers)).status).toBe(200)
      expect(await more()).toEqual([1, 2])
      await passHour()
      for (let n = 0; n < 2; n++) expect((await owner.post(path, body, headers)).status).toBe(200)
      expect(await more()).toEqual([1, 3])
    }
  })

  it('leave no file open where whoever asked has gone before it was sent', async context => {
    if (!database.url) return context.skip('PGlite is one session, which nobody else can hold up')
    const count = async () => (await owner.get('/tasks/export-log?limit=1')).body.pagination.total
    const before = await count()
    // The file is written by then, and the record of its export waits.
    const letGo = await hold(db, 'LOCK TABLE export_logs IN SHARE MODE')
    const leaving = new AbortController()
    const asked = fetch(`${server.url}/api/v3/data/export`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ dataTypeId: typeId, format: 'json' }),
      signal: leaving.signal,
    }).catch(() => {})
    await until('it waits', async () => {
      // The upkeep may wait for the table as well, and so may what other tests do in databases of their own.
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO export_logs%'`
      return (await db.system.query(waiting)).length > 0
    })
    leaving.abort()
    await asked
    await letGo()
    await until('it is noted', async () => (await count()) === before + 1)
    // The server is in this process.
    const open = () =>
      readdirSync('/proc/self/fd').filter(fd => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(join(database.dataDir, 'exports'))
        } catch {
          return false
        }
      })
    await until('no file is open', () => open().length === 0)
    expect(server.output.stderr).not.toContain('The request failed')
  })

  it('say which filter is wrong, and what it has to be', async () => {
    const answer = await owner.post('/data/export', {
      dataTypeId: typeId,
      format: 'json',
      filter: { revenue: 'x' },
    })
    expect(answer.body.message).toBe('"filter.revenue" is not valid: this has to be a number.')
    const nested = await owner.post('/tasks/export', { format: 'json', filter: { status: ['x'] } })
    expect(nested.body.message).toBe(
      '"filter.status" is not valid: this has to be a text or a number or true or false.',
    )
  })

  const sheetOf = (book: WorkBook) => book.Sheets[book.SheetNames[0] as string] as WorkBook['Sheets'][string]
  const person = async (restrictedFields: string[], also: object[] = []) => {
    const role = await owner.post('/role', {
      name: `Role ${newId()}`,
      permissionDetails: [
        { permissionName: 'view/data', dataTypes: [{ dataTypeId: typeId, restrictedFields }] },
        ...also,
      ],
    })
    expect(role.status, JSON.stringify(role.body)).toBe(201)
    const added = await addPerson(server, owner, { roleId: role.body.data._id })
    return { ...added, roleId: role.body.data._id as string }
  }

  it('as JSON are the records as GET /data shows them', async () => {
    const answer = await exportAll('json')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, TYPES.json])
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="Customers  all.json"; filename*=UTF-8''Customers%20%20all.json`,
    )
    expect(answer.headers.get('content-length')).toBe(String(answer.bytes.length))
    const listed = (await owner.get(`/data?dataTypeId=${typeId}`)).body.data
    expect(JSON.parse(answer.bytes.toString())).toEqual(listed)
    expect(Object.keys(listed[0].data)).toEqual(FIELDS.map(({ key }) => key))
    expect(Object.keys(JSON.parse(answer.bytes.toString())[0].data)).toEqual(FIELDS.map(({ key }) => key))
  })

  it('as XLSX are a sheet that another reader understands, with nothing that a spreadsheet would run', async () => {
    const answer = await exportAll('xlsx')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, TYPES.xlsx])
    const book = read(answer.bytes, { cellStyles: true, cellNF: true, cellFormula: true, dense: false })
    expect(book.SheetNames).toEqual(['Customers  all'])
    const sheet = sheetOf(book)
    expect(sheet['!ref']).toBe('A1:L4')
    const row = (n: number) => FIELDS.map((_, at) => sheet[`${String.fromCharCode(65 + at)}${n}`])
    expect(row(1).map(({ v }) => v)).toEqual(FIELDS.map(({ label }) => label))
    expect(row(2).map(({ t, v }) => [t, v])).toEqual([
      ['s', 'C1'],
      ['s', FULL.note],
      ['n', -12.5],
      ['b', false],
      ['n', (Date.UTC(2026, 10, 21) - Date.UTC(1899, 11, 30)) / 86_400_000],
      ['n', (Date.UTC(2026, 6, 1, 12, 0, 0, 250) - Date.UTC(1899, 11, 30)) / 86_400_000],
      ['s', FULL.email],
      ['s', FULL.phone],
      ['s', FULL.web],
      ['s', 'L'],
      ['s', '["a","b"]'],
      ['s', '52.5, 13.4 (Am Markt 1 (links), Köln)'],
    ])
    expect([row(2)[4].z, row(2)[5].z, row(2)[1].z]).toEqual(['yyyy-mm-dd', 'yyyy-mm-dd hh:mm:ss', '@'])
    expect(row(3)[1].v).toBe(' \t<&"\'>\r_x0041_\n\u0001\u007f\u{1f600} ')
    expect(row(4).map(cell => cell?.v)).toEqual(['C3', ...Array(11).fill(undefined)])
    expect(Object.values(sheet).filter(cell => cell?.f !== undefined)).toEqual([])
  })

  it('are the same in steps of any size, each record once and in its order', async () => {
    const keys = Array.from({ length: 120 }, (_, at) => `k${at}`)
    const name = `Wide "${newId()}"`
    const dataTypeId = await addType(
      name,
      keys.map(key => ({ key, label: key, type: 'text' })),
    )
    for (let n = 0; n < 15; n++) {
      const given = keys.filter((_, at) => n > 0 && at % n === 0)
      const data = Object.fromEntries(given.map(key => [key, 'ü"\\'.repeat(n * 10)]))
      expect((await owner.post('/data', { dataTypeId, data })).status).toBe(201)
    }
    const listed = (await owner.get(`/data?dataTypeId=${dataTypeId}`)).body.data
    const cells = listed.map(({ data }: { data: { [key: string]: string } }) =>
      keys.map(key => data[key] ?? null),
    )
    const steps = {
      ...{ organizationId: organizationId(), dataType: { _id: dataTypeId, name } },
      ...{ fields: keys.map(key => ({ key })), names: new Map(), filter: [] },
    }
    for (const as of ['records', 'cells'] as const) {
      for (const [rows, maxBytes] of [
        [4, 1e9],
        [15, 1e9],
        [16, 20_000],
        [16, 1],
      ] as const) {
        const texts: string[] = []
        let after: string | null = null
        for (let ended = false; !ended; ) {
          const page = { after, until: newId(), ids: null, rows, maxBytes }
          const step = await readDataStep(db.system, steps, as, page)
          expect(step.looked).toBeLessThanOrEqual(rows)
          if (step.count > 0) texts.push(step.text)
          ;({ last: after = null, ended } = step)
        }
        expect(JSON.parse(`[${texts.join(',')}]`)).toEqual(as === 'records' ? listed : cells)
        // The first one has no bytes to count.
        expect(texts.length).toBeGreaterThanOrEqual(maxBytes === 1 ? 14 : Math.floor(15 / rows))
      }
    }
  })

  it('hold what a filter of GET /data finds, and the fields that are named', async () => {
    for (const [key, value] of [
      ['code', 'C2'],
      ['revenue', -12.5],
      ['vip', false],
      ['tags', 'b'],
      ['email', 'nobody@example.com'],
    ]) {
      const found = (await owner.get(`/data?dataTypeId=${typeId}&filter[${key}]=${value}`)).body.data
      expect(await exportJson({ filter: { [key as string]: value } }), String(key)).toEqual(found)
    }
    const some = await exportJson({ fields: ['vip', 'code'], filter: { code: 'C1' } })
    expect(some.map(({ data }: { data: object }) => data)).toEqual([{ code: 'C1', vip: false }])
    for (const [more, path] of [
      [{ fields: ['nothing'] }, 'fields'],
      [{ filter: { nothing: 'x' } }, 'filter.nothing'],
      [{ filter: { place: 'x' } }, 'filter.place'],
      [{ filter: { revenue: 'x' } }, 'filter.revenue'],
      [{ dataTypeId: newId() }, 'dataTypeId'],
      [{ format: 'csv' }, 'format'],
      [{ more: 1 }, 'more'],
    ] as const) {
      const refused = await exportAll('json', more)
      expect([refused.status, JSON.parse(refused.bytes.toString()).errors[0].path]).toEqual([400, path])
    }
  })

  it('leave out what the role restricts; named it is 403', async () => {
    const exporting = { permissionName: 'export/data' }
    const { client } = await person(['phone', 'note'], [exporting])
    const [first] = await exportJson({ filter: { code: 'C1' } }, client)
    const { phone, note, ...rest } = FULL
    expect(first.data).toEqual(rest)
    const book = read((await exportAll('xlsx', {}, client)).bytes)
    expect(JSON.stringify(sheetOf(book))).not.toContain(phone)
    for (const more of [{ fields: ['code', 'phone'] }, { filter: { phone: '1' } }]) {
      const answer = await exportAll('json', more, client)
      expect([answer.status, JSON.parse(answer.bytes.toString()).restrictedFields]).toEqual([403, ['phone']])
    }
    const restricted = { ...exporting, dataTypes: [{ dataTypeId: typeId, restrictedFields: ['email'] }] }
    const both = await person(['phone'], [restricted])
    const [seen] = await exportJson({ fields: ['code'] }, both.client)
    expect(seen.data).toEqual({ code: 'C1' })
    expect((await exportAll('json', { fields: ['email'] }, both.client)).status).toBe(403)
    const other = await addType(`Other ${newId()}`, [{ key: 'n', label: 'N', type: 'number' }])
    expect((await exportAll('json', { dataTypeId: other }, client)).status).toBe(400)
    const without = await person([])
    expect((await exportAll('json', {}, without.client)).status).toBe(403)
  })

  it('name references by what names the other record, where that may be seen', async () => {
    const target = await addType(`Target ${newId()}`, [{ key: 'no', label: 'No', type: 'text' }], {
      primaryKey: 'no',
    })
    const made = (await owner.post('/data', { dataTypeId: target, data: { no: 'T-1' } })).body.data
    const from = await addType(`From ${newId()}`, [
      { key: 'to', label: 'To', type: 'reference', dataTypeId: target },
      { key: 'any', label: 'Any', type: 'reference' },
    ])
    await owner.post('/data', { dataTypeId: from, data: { to: made._id, any: made._id } })
    const sheet = sheetOf(read((await exportAll('xlsx', { dataTypeId: from })).bytes))
    expect([sheet.A2.v, sheet.B2.v]).toEqual(['T-1', made._id])
    expect((await exportJson({ dataTypeId: from }))[0].data).toEqual({ to: made._id, any: made._id })
    const detail = (id: string, restrictedFields: string[]) => ({ dataTypeId: id, restrictedFields })
    const dataTypes = [detail(from, []), detail(target, ['no'])]
    const role = await owner.post('/role', {
      name: `Blind ${newId()}`,
      permissionDetails: [{ permissionName: 'view/data', dataTypes }, { permissionName: 'export/data' }],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const blind = sheetOf(read((await exportAll('xlsx', { dataTypeId: from }, client)).bytes))
    expect(blind.A2.v).toBe(made._id)
  })

  it('have headings that are not alike, whatever the labels', async () => {
    const labels = { a: 'Name', b: 'náme', c: 'Name (a)', d: 'Other', e: '!!!' }
    const fields = Object.entries(labels).map(([key, label]) => ({ key, label, type: 'text' }))
    const dataTypeId = await addType(`Alike ${newId()}`, fields)
    const sheet = sheetOf(read((await exportAll('xlsx', { dataTypeId })).bytes))
    expect(['A1', 'B1', 'C1', 'D1', 'E1'].map(cell => sheet[cell].v)).toEqual([
      ...['Name (a 2)', 'náme (b)', 'Name (a)', 'Other', '!!! (e)'],
    ])
  })

  it.each(['json', 'xlsx'])('of more than the limit are made in the background, whole: %s', async format => {
    const count = 12_345
    const dataTypeId = await addMany(count)
    const ordered = await owner.post('/data/export', { dataTypeId, format })
    expect([ordered.status, ordered.body.data]).toMatchObject([
      202,
      {
        status: 'queued',
        direct: false,
        format,
        dataType: { _id: dataTypeId },
        progress: 0,
        fileBytes: null,
      },
    ])
    const log = await whenDone(ordered.body.data._id)
    expect(log).toMatchObject({
      status: 'completed',
      total: count,
      processed: count,
      progress: 1,
      error: null,
    })
    const file = await download(owner, `/tasks/export-log/${log._id}/file`)
    expect([file.status, file.headers.get('content-type')]).toEqual([200, TYPES[format as 'json' | 'xlsx']])
    expect(file.bytes.length).toBe(log.fileBytes)
    const numbers =
      format === 'json'
        ? JSON.parse(file.bytes.toString()).map(({ data }: { data: { n: number } }) => data.n)
        : Array.from(
            { length: count },
            (
              (sheet = sheetOf(read(file.bytes))) =>
              (_, at) =>
                sheet[`A${at + 2}`]?.v
            )(),
          )
    expect(numbers).toEqual(Array.from({ length: count }, (_, at) => at + 1))
    const filtered = await owner.post('/data/export', { dataTypeId, format: 'json', filter: { n: 77 } })
    expect(filtered.body).toMatchObject([{ data: { n: 77 } }])
    expect(readdirSync(join(database.dataDir, 'exports', 'drafts'))).toEqual([])
    await removeMany(dataTypeId)
  })
})
