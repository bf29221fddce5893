import { readdirSync, readlinkSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import exceljs from 'exceljs'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { importFile } from '../support/imports.ts'
import { readDocument } from '../support/openapi.ts'
import { useServerProcess } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { pause, until } from '../support/wait.ts'

describe('The rows of an import that failed', () => {
  const { server, database } = useServerProcess()
  let owner: Client
  let dataTypeId: string
  let number = 0

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

  async function newType(): Promise<void> {
    const fields = [
      { key: 'number', label: 'Customer number', type: 'text' },
      { key: 'name', label: 'Name', type: 'text', required: true },
      { key: 'since', label: 'Since', type: 'date' },
    ]
    const made = await owner.post('/data-type', { name: `Type ${++number}`, primaryKey: 'number', fields })
    dataTypeId = made.body.data._id
  }
  const send = (file: Buffer | string, fileName = 'kunden.any') =>
    importFile(server, owner, file, { dataTypeId }, fileName)
  const read = async () =>
    (await owner.get(`/data?dataTypeId=${dataTypeId}`)).body.data.map(
      ({ data }: { data: { [field: string]: unknown } }) => data,
    )
  const failedRows = async (client: Client, importId: string) => {
    const url = `${server.url}/api/v3/import-monitoring/${importId}/failed-rows`
    const response = await fetch(url, { headers: { authorization: `Bearer ${client.token}` } })
    return { response, file: Buffer.from(await response.arrayBuffer()) }
  }

  it.each<[string, (rows: string[][]) => Promise<Buffer> | Buffer]>([
    ['CSV', rows => Buffer.from(rows.map(cells => cells.join(',')).join('\n'))],
    ['XLSX', writeWorkbook],
  ])('come back as %s, to be mended and sent again without a row too many', async (_format, make) => {
    await newType()
    const header = ['Customer number', 'Name', 'Note of ours', 'Since']
    const rows = [
      header,
      ['1', 'Ada', 'x', ''],
      ['2', '', 'say "hi"; now', '2026-13-01'],
      ['3', 'Cleo', '', 'never'],
    ]
    const done = await send(await make(rows))
    expect(done).toMatchObject({ created: 1, failed: 2 })
    const { response, file } = await failedRows(owner, done._id)
    expect(response.status).toBe(200)
    const described = (await readDocument(server)).paths['/api/v3/import-monitoring/{id}/failed-rows']?.get
    expect(Object.keys(described?.responses['200']?.content ?? {})).toContain(
      response.headers.get('content-type')?.replace(/;.*/, ''),
    )
    expect(response.headers.get('content-disposition')).toContain('kunden - failed rows.')
    // Sent unchanged it fails again, with the same errors for the remaining rows.
    const again = await send(file)
    expect(again.failures.map(({ row, field }) => [row, field])).toEqual([
      [2, 'name'],
      [2, 'since'],
      [3, 'since'],
    ])
    const { file: second } = await failedRows(owner, again._id)
    expect((await readTable(second)).map(cells => cells.length)).toEqual([5, 5, 5])
    expect((await readTable(second)).slice(0, 2)).toEqual((await readTable(file)).slice(0, 2))
    const mended = (await readTable(file)).map(cells =>
      cells.map(cell => (cell === '2026-13-01' || cell === 'never' ? '2026-12-01' : cell)),
    )
    expect(mended[0]).toEqual([...header, 'Import error'])
    expect(mended[1]?.[2]).toBe('say "hi"; now')
    expect(mended[2]?.[4]).toContain('Since: This has to be a date')
    ;(mended[1] as string[])[1] = 'Bob'
    const csv = mended.map(cells => cells.map(cell => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\n')
    expect(await send(Buffer.from(csv))).toMatchObject({ created: 2, failed: 0 })
    expect((await read()).map((one: { name: string }) => one.name)).toEqual(['Ada', 'Bob', 'Cleo'])
  })

  it('come back as CSV without a formula that a spreadsheet would run, and are imported as they were', async () => {
    await newType()
    const texts = [
      '=1+1',
      '@SUM(1)',
      '+1+1',
      '-1-1',
      '\t=1',
      '\n=1+1',
      '\r\n  @x',
      '\uff1d1',
      "'=1",
      "''@x",
      '-1,5',
      '+49 30 123',
      "'x",
      '-',
    ]
    const quoted = (cells: string[]) => cells.map(cell => `"${cell}"`).join(',')
    const heading = "=cmd|' /C calc'!A0"
    const rows = texts.map((text, at) => [String(at), text, 'never', text])
    const file = [['Customer number', 'Name', 'Since', heading], ...rows].map(quoted).join('\n')
    const done = await send(file)
    expect(done).toMatchObject({ failed: texts.length })
    const { file: failed } = await failedRows(owner, done._id)
    const table = parse(failed, { delimiter: ',', bom: true }) as string[][]
    const runs = table.flat().filter(cell => /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(cell))
    expect([...new Set(runs)].sort()).toEqual(['+49 30 123', '-1,5'])
    const mended = Buffer.from(String(failed).replaceAll('never', ''))
    const again = await send(mended)
    expect(again).toMatchObject({ created: texts.length, failed: 0 })
    expect((await read()).map((one: { name: string }) => one.name)).toEqual(texts)
    // Only from a file of failed rows are apostrophes removed.
    await newType()
    await send(`Customer number,Name\n1,'=1\n`)
    expect((await read()).map((one: { name: string }) => one.name)).toEqual(["'=1"])
  })

  it('say where only the rest of their file told how they are read', async () => {
    await newType()
    const file = 'Customer number,Name,Since\n1,Ada,03/04/2026\n2,Bob,25/12/2026\n'
    const tried = await importFile(server, owner, file, { dataTypeId, dryRun: 'true' })
    expect(tried).toMatchObject({ created: 2, failed: 0 })
    expect(await send(file)).toMatchObject({ created: 2, failed: 0 })
    const days = async () => (await read()).map((one: { since: string }) => one.since)
    expect(await days()).toEqual(['2026-04-03', '2026-12-25'])
    const again = await send('Customer number,Name,Since\n1,Ada,04/03/2026\n3,Eve,26/12/2026\n')
    expect(again).toMatchObject({ created: 1, failed: 1 })
    expect(again.failures.map(({ field }) => field)).toEqual(['number', 'since'])
    const { file: alone } = await failedRows(owner, again._id)
    expect(String(alone)).toContain('Since: This is read as other rows of the file show it')
    const mixed = await send('Customer number,Name,Since\n4,A,03/04/2026\n5,B,26/12/2026\n6,C,12/26/2026\n')
    expect(mixed).toMatchObject({ created: 2, failed: 1 })
    expect(mixed.failures).toMatchObject([{ row: 2, field: 'since', value: '03/04/2026' }])
  })

  it('are told of JSON where a record is none of ours, and do not stop the rest', async () => {
    await newType()
    const ours = (number: number) => ({ data: { number: String(number), name: 'Ada' } })
    const file = [ours(1), null, 7, 'x', [ours(2)], { name: 'Bob' }, { data: null }, ours(3)]
    const done = await send(JSON.stringify(file))
    expect(done).toMatchObject({ status: 'completed_with_errors', total: 8, created: 2, failed: 6 })
    expect(done.failures.map(({ row, field, value }) => [row, field, value])).toEqual(
      file.slice(1, -1).map((record, at) => [at + 3, null, JSON.stringify(record)]),
    )
  })

  it('of JSON are numbered as the row at which its text ends an import', async () => {
    await newType()
    const done = await send('[{"data":{"number":"1","name":"Ada"}},{"data":}]')
    expect(done).toMatchObject({ status: 'failed', error: 'Row 3, record 2 of the file, is not valid JSON.' })
  })

  it('come back as JSON, each with its data and why', async () => {
    await newType()
    const records = [{ data: { number: '1', name: 'Ada' } }, { data: { number: '2', since: 'never' } }]
    const done = await send(JSON.stringify(records))
    const { file } = await failedRows(owner, done._id)
    expect(JSON.parse(String(file))).toEqual([
      {
        data: { number: '2', since: 'never' },
        error: expect.stringContaining('since: This has to be a date'),
      },
    ])
    expect(await send(file)).toMatchObject({ failed: 1, created: 0 })
  })

  it('are those of a file of one column with two values in quotation marks, also when they are sent again', async () => {
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    const made = await owner.post('/data-type', { name: `Type ${++number}`, fields })
    dataTypeId = made.body.data._id
    const failure = { message: expect.stringContaining('The row has 2 values, and the header 1') }
    const done = await send('Name\n"Berlin, Germany"\n"Paris","France"\n')
    expect(done).toMatchObject({ created: 1, failed: 1, failures: [{ row: 3, ...failure }] })
    const { file } = await failedRows(owner, done._id)
    expect(String(file)).toMatch(/^Paris,".*",France\r$/m)
    expect(await send(file)).toMatchObject({ created: 0, failed: 1 })
  })

  it('are 409 before the import has ended', async () => {
    await newType()
    const done = await send('Customer number,Name\n1,\n')
    const db = await openTestDatabase(database)
    try {
      for (const status of ['queued', 'processing', 'cancelled']) {
        await db.system.query('UPDATE imports SET status = $2 WHERE id = $1', [done._id, status])
        const { response } = await failedRows(owner, done._id)
        expect([status, response.status]).toEqual([status, status === 'cancelled' ? 200 : 409])
      }
    } finally {
      await db.close()
    }
  })

  it('come in thousands, and are read as they are written', async () => {
    await newType()
    const rows = Array.from({ length: 2_400 }, (_, at) => `${at},${at % 4 === 0 ? 'Ada' : ''},x`)
    const done = await send(`Customer number,Name,Note\n${rows.join('\n')}`)
    expect(done).toMatchObject({ created: 600, failed: 1_800 })
    expect(done.failures).toHaveLength(1_000)
    const { file } = await failedRows(owner, done._id)
    const table = parse(file, { delimiter: [',', ';'], bom: true }) as string[][]
    expect(table).toHaveLength(1_801)
    expect(table.at(-1)).toEqual(['2399', '', 'x', 'Name: Name is required.'])
  })

  it('are made by few threads, however many ask at once', async () => {
    await newType()
    const done = await send('Customer number,Name\n1,\n')
    // The permanent threads of the server exist by now.
    await failedRows(owner, done._id)
    const threads = () => readdirSync(`/proc/${server.pid}/task`).length
    const before = threads()
    const people = await Promise.all([1, 2].map(() => addPerson(server, owner, { role: 'Owner' })))
    const clients = [owner, ...people.map(({ client }) => client)]
    let most = 0
    let isAsking = true
    const asking = Promise.all(
      clients.flatMap(client => Array.from({ length: 3 }, () => failedRows(client, done._id))),
    ).finally(() => {
      isAsking = false
    })
    while (isAsking) {
      most = Math.max(most, threads())
      await pause(2)
    }
    expect((await asking).map(({ response }) => response.status)).toEqual(Array(9).fill(200))
    // Two of one organization, and those that are about to end.
    expect(most - before).toBeLessThan(6)
  })

  it('are made whole while somebody reads them slowly, who keeps nobody else from theirs', async () => {
    await newType()
    // More than sockets buffer.
    const rows = Array.from({ length: 160 }, (_, at) => `${at},,${'x'.repeat(100_000)}`)
    const done = await send(`Customer number,Name,Note\n${rows.join('\n')}`)
    expect(done).toMatchObject({ failed: 160 })
    const { file } = await failedRows(owner, done._id)
    const threads = () => readdirSync(`/proc/${server.pid}/task`).length
    const before = threads()
    const url = `${server.url}/api/v3/import-monitoring/${done._id}/failed-rows`
    const people = await Promise.all([1, 2].map(() => addPerson(server, owner, { role: 'Owner' })))
    const clients = [owner, ...people.map(({ client }) => client)] as [Client, Client, Client]
    // As many as may be written at once for an organization.
    const slow = await Promise.all(
      clients.slice(1).map(({ token }) => {
        const headers = { authorization: `Bearer ${token}` }
        return new Promise<IncomingMessage>((resolve, reject) =>
          get(url, { headers }, resolve).once('error', reject),
        )
      }),
    )
    const { response, file: quick } = await failedRows(clients[0], done._id)
    expect([response.status, quick.equals(file)]).toEqual([200, true])
    await until('no thread is left', () => threads() <= before)
    expect(slow.map(({ statusCode }) => statusCode)).toEqual([200, 200])
    expect(slow.every(({ socket }) => socket.bytesRead < file.length)).toBe(true)
    const [one, other] = slow as [IncomingMessage, IncomingMessage]
    expect((await buffer(one)).equals(file)).toBe(true)
    // A client that disconnects leaves nothing behind either.
    other.destroy()
    const open = () =>
      readdirSync(`/proc/${server.pid}/fd`).filter(fd => {
        try {
          return readlinkSync(`/proc/${server.pid}/fd/${fd}`).includes('.unnamed')
        } catch {
          return false
        }
      })
    await until('no file is left open', () => open().length === 0)
  })

  it('are for whoever sent them, and who sees every field of the type', async () => {
    await newType()
    const done = await send('Customer number,Name\n1,\n')
    const role = async (more: object) => {
      const permissionDetails = [{ permissionName: 'import/data' }, { permissionName: 'view/data', ...more }]
      const { body } = await owner.post('/role', { name: `Role ${++number}`, permissionDetails })
      return (await addPerson(server, owner, { roleId: body.data._id })).client
    }
    const restricted = await role({ dataTypes: [{ dataTypeId, restrictedFields: ['since'] }] })
    expect((await failedRows(await role({}), done._id)).response.status).toBe(200)
    const refused = await failedRows(restricted, done._id)
    // It named none of them, so the answer names none.
    expect([refused.response.status, String(refused.file)]).toEqual([
      403,
      expect.not.stringMatching(/since/i),
    ])
    const own = await importFile(server, restricted, 'Customer number,Name\n1,\n', { dataTypeId })
    expect((await failedRows(restricted, own._id)).response.status).toBe(200)
  })
})

async function writeWorkbook(rows: string[][]): Promise<Buffer> {
  const workbook = new exceljs.Workbook()
  workbook.addWorksheet('One').addRows(rows)
  return Buffer.from(await workbook.xlsx.writeBuffer())
}

async function readTable(file: Buffer): Promise<string[][]> {
  if (file.subarray(0, 2).toString() !== 'PK') return parse(file, { delimiter: [',', ';'], bom: true })
  const workbook = new exceljs.Workbook()
  await workbook.xlsx.load(file as unknown as ArrayBuffer)
  const rows = workbook.worksheets[0]?.getSheetValues() as exceljs.CellValue[][]
  return rows.slice(1).map(cells => Array.from(cells.slice(1), cell => String(cell ?? '')))
}
