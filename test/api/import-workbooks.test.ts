import { readFileSync } from 'node:fs'
import * as sheetjs from '@e965/xlsx'
import exceljs from 'exceljs'
import { beforeAll, describe, expect, it } from 'vitest'
import { residentMiB } from '../services/processes.ts'
import { type Client, signIn } from '../support/client.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { useServerProcess } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { inlineRow, makeWorkbook, makeZip, workbookParts } from '../support/workbooks.ts'

const HEADER = inlineRow(1, 'Name', 'Note')
const ROW = inlineRow(2, 'Ada', 'first')
/** The heap of the reading thread, and its memory outside of it. */
const MAX_READER_MIB = 250

describe('A workbook', () => {
  const { server } = useServerProcess()
  let owner: Client
  let dataTypeId: string
  let number = 0
  let restingMiB: number

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    restingMiB = residentMiB(server.pid)
    await newType([
      { key: 'name', label: 'Name', type: 'text' },
      { key: 'note', label: 'Note', type: 'text' },
    ])
  })

  const peakMiB = (pid: number) =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

  async function newType(fields: object[], more: object = {}): Promise<void> {
    const made = await owner.post('/data-type', { name: `Type ${++number}`, fields, ...more })
    dataTypeId = made.body.data._id
  }
  const send = (file: Buffer, fields: { [name: string]: string } = {}, name = 'file.xlsx') =>
    importFile(server, owner, file, { dataTypeId, ...fields }, name)
  const read = async () =>
    (await owner.get(`/data?dataTypeId=${dataTypeId}&limit=500`)).body.data.map(
      ({ data }: { data: { [field: string]: unknown } }) => data,
    )

  describe('is read as a spreadsheet shows it', () => {
    const fields = [
      { key: 'name', label: 'Name', type: 'text' },
      { key: 'phone', label: 'Phone', type: 'phone' },
      { key: 'size', label: 'Size', type: 'number' },
      { key: 'day', label: 'Day', type: 'date' },
      { key: 'at', label: 'At', type: 'datetime' },
      { key: 'ok', label: 'Ok', type: 'boolean' },
    ]

    it('written by exceljs, with shared texts and blank rows', async () => {
      await newType(fields)
      const workbook = new exceljs.Workbook()
      const sheet = workbook.addWorksheet('One')
      sheet.addRow(['Name', 'Phone', 'Size', 'Day', 'At', 'Ok'])
      const at = new Date('2026-11-21T09:30:00Z')
      sheet.addRow(['Ada', 84912345678, 0.1, new Date('2026-02-28T00:00:00Z'), at, true])
      sheet.getRow(6).values = [12, '030 12345', 1e6, null, null, false]
      sheet.getRow(6).getCell(4).value = { formula: 'D2', result: new Date('2024-02-29T00:00:00Z') }
      const done = await send(Buffer.from(await workbook.xlsx.writeBuffer()))
      expect(done).toMatchObject({ created: 2, total: 2, failures: [] })
      expect(await read()).toEqual([
        { name: 'Ada', phone: '84912345678', size: 0.1, day: '2026-02-28', at: at.toISOString(), ok: true },
        { name: '12', phone: '030 12345', size: 1e6, day: '2024-02-29', ok: false },
      ])
    })

    it('with numbers whose zeros or last digits would be lost', async () => {
      await newType([{ key: 'code', label: 'Code', type: 'text' }], { primaryKey: 'code' })
      const digits = '12345678901234567890'
      const sheet = new exceljs.Workbook().addWorksheet('One')
      for (const code of ['Code', 1067, Number(digits), digits]) sheet.addRow([code])
      sheet.getRow(2).numFmt = '00000'
      const done = await send(Buffer.from(await sheet.workbook.xlsx.writeBuffer()))
      expect(done).toMatchObject({ created: 2, failed: 1, failures: [{ row: 3, field: 'code' }] })
      expect(await read()).toEqual([{ code: '01067' }, { code: digits }])
    })

    it.each([true, false])('written by SheetJS, with texts that cells share: %s', async bookSST => {
      await newType(fields)
      const rows = [
        ['Name', 'Phone', 'Size', 'Day', 'At', 'Ok'],
        [' Zoë & <Co>\n"a"', 84912345678, 0.1, '2026-02-28', new Date('2026-11-21T09:30:00Z'), true],
        [],
        ['Zoë', '030 12345', -1e6, new Date('1904-01-02T00:00:00Z'), null, false],
        ['Zoë', null, '1e-7'],
      ]
      const sheet = sheetjs.utils.aoa_to_sheet(rows, { UTC: true })
      sheet.C4 = { t: 'n', f: 'C2*-10000000', v: -1e6 }
      const book = sheetjs.utils.book_new(sheet, 'Köln')
      sheetjs.utils.book_append_sheet(book, sheetjs.utils.aoa_to_sheet([['Other'], ['no']]), 'Other')
      const done = await send(
        sheetjs.write(book, { type: 'buffer', bookType: 'xlsx', bookSST, compression: true }),
      )
      expect(done).toMatchObject({ created: 3, total: 3, failures: [] })
      expect(await read()).toEqual([
        {
          ...{ name: ' Zoë & <Co>\n"a"', phone: '84912345678', size: 0.1, day: '2026-02-28' },
          ...{ at: '2026-11-21T09:30:00.000Z', ok: true },
        },
        { name: 'Zoë', phone: '030 12345', size: -1e6, day: '1904-01-02', ok: false },
        { name: 'Zoë', size: 1e-7 },
      ])
    })

    it.each(['days-from-1900.xlsx', 'days-from-1904.xlsx', 'customers.csv'])(
      'written by LibreOffice, %s',
      async name => {
        const more = ['city', 'twice'].map(key => ({
          key,
          label: key,
          type: key === 'city' ? 'text' : 'number',
        }))
        await newType([...fields, ...more])
        const file = readFileSync(new URL(`../data/libreoffice/${name}`, import.meta.url))
        const done = await send(file, {}, name)
        expect(done).toMatchObject({
          ...{ status: 'completed_with_errors', total: 4, created: 3, failed: 1 },
          failures: [{ row: 6, field: 'size', value: '#DIV/0!' }],
        })
        const zoe = { name: 'Zoë Łuszcz', ok: true }
        expect(await read()).toEqual([
          {
            ...{ ...zoe, phone: '84912345678', size: 0.1, day: '2026-02-28', at: '2026-11-21T09:30:00.000Z' },
            ...{ city: 'Hamburg', twice: 0.2 },
          },
          {
            ...{ name: 'Ada & <Co>', phone: '+49 30 12345', size: 1e6, day: '1904-01-02', ok: false },
            // The first of merged cells has the value.
            ...{ at: '2026-07-01T00:00:01.000Z', twice: 2e6 },
          },
          {
            ...{ ...zoe, phone: '+49 40 123', size: 1_000_000.1, day: '2026-03-01' },
            ...{ at: '2026-11-21T21:30:00.000Z', city: 'Köln', twice: 2_000_000.2 },
          },
        ])
      },
    )

    it.each([
      [false, 46_081],
      [true, 44_619],
    ])('with dates that count from 1904: %s', async (date1904, serial) => {
      await newType(fields)
      const styles =
        '<numFmts><numFmt numFmtId="170" formatCode="&quot;day&quot; [$-407]d/m/yy"/><numFmt numFmtId="171" formatCode="&quot;d&quot;0.00"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="22"/></cellXfs>'
      const rows = `<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="s"><v>3</v></c></row>
        <row r="5"><c r="A5" t="s"><v>4</v></c><c r="B5" s="1"><v>${serial}</v></c><c s="3"><v>${serial}.5</v></c><c r="D5" s="2"><v>7</v></c></row>
        <row r="6"><c r="B6"><v>${serial}</v></c><c r="D6" s="3"><v>1.25</v></c></row>`
      const shared = ['Name', 'Day', 'At', 'Size', 'a_x000D_ &amp; b']
      const done = await send(makeWorkbook({ rows, shared, styles, date1904 }))
      expect(done).toMatchObject({ created: 2, failures: [] })
      expect(await read()).toEqual([
        { name: 'a\r & b', day: '2026-02-28', at: '2026-02-28T12:00:00.000Z', size: 7 },
        // A cell that lost its format is the same day, and one that shows a time the same number.
        { day: '2026-02-28', size: 1.25 },
      ])
    })

    it('with sheets out of order in the zip, and names of another prefix', async () => {
      const parts = workbookParts({ rows: HEADER + ROW }).map(part => ({
        ...part,
        data: part.name.endsWith('sheet2.xml')
          ? String(part.data)
              .replaceAll(/<(\/?)([a-z])/gi, '<$1x:$2')
              .replace('xmlns=', 'xmlns:x=')
              .replace('<?x:xml', '<?xml')
          : part.data,
      }))
      expect(await send(makeZip(parts.reverse()), { dryRun: 'true' })).toMatchObject({
        created: 1,
        failures: [],
      })
    })

    it('with 50,000 merged cells, a cell in its last corner, rows without numbers', async () => {
      const merged = Array.from(
        { length: 50_000 },
        (_, at) => `<mergeCell ref="C${at * 2 + 3}:D${at * 2 + 4}"/>`,
      )
      const after = `<mergeCells count="50000">${merged.join('')}</mergeCells>`
      const rows = `${HEADER}${ROW}<row>${inlineRow(3, 'Bob').slice(11)}<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`
      expect(await send(makeWorkbook({ rows, after }), { dryRun: 'true' })).toMatchObject({
        status: 'completed_with_errors',
        total: 3,
        created: 2,
        failures: [{ row: 1_048_576, message: expect.stringContaining('Column XFD has a value') }],
      })
    })

    it('and says where it holds errors instead of values', async () => {
      await newType(fields)
      const rows = `${inlineRow(1, 'Name', 'Size')}<row r="3"><c r="A3" t="e"><v>#REF!</v></c><c r="B3"><f>1+1</f></c></row>`
      const done = await send(makeWorkbook({ rows }))
      expect(done.failures).toEqual([
        { row: 3, field: 'name', value: '#REF!', message: 'The cell holds no value: #REF!.' },
        expect.objectContaining({ row: 3, field: 'size' }),
      ])
    })
  })

  const bomb = () =>
    makeZip(
      workbookParts({ rows: HEADER + ROW, after: ' '.repeat(1) }).concat({
        name: 'xl/media/a',
        data: Buffer.alloc(1),
        saidBytes: 0xfffffffe,
      }),
    )
  const bigCell = (size: number) =>
    `${HEADER}<row r="2"><c r="A2" t="inlineStr"><is><t>${'a'.repeat(size)}</t></is></c></row>`
  const entities = `<!DOCTYPE x [<!ENTITY a "${'a'.repeat(100)}">${Array.from({ length: 9 }, (_, at) => `<!ENTITY a${at} "${`&a${at === 0 ? '' : at - 1};`.repeat(10)}">`).join('')}]>`
  const external = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
  const columns = Array.from({ length: 16_385 }, (_, at) => `c${at}`)
  const whole = () => makeWorkbook({ rows: HEADER + ROW })

  it.each<[string, number, string, () => Buffer | string]>([
    ['says that it unpacks to 4 GiB', 413, 'larger than 2 GiB', bomb],
    [
      'defines entities in entities',
      422,
      'document type',
      () => makeWorkbook({ rows: HEADER + ROW, prolog: entities }),
    ],
    [
      'defines an external entity',
      422,
      'document type',
      () => makeWorkbook({ rows: HEADER, prolog: external }),
    ],
    [
      'uses an entity that it does not define',
      422,
      'not valid XML',
      () => makeWorkbook({ rows: inlineRow(1, '&x;') }),
    ],
    [
      'has 16,385 columns',
      413,
      'more than 16,384 columns',
      () => makeWorkbook({ rows: '<row r="1"><c r="A1"><v>1</v></c><c r="XFE1"><v>1</v></c></row>' }),
    ],
    [
      'has a row beyond the last',
      413,
      'more than 1,048,576 rows',
      () => makeWorkbook({ rows: '<row r="1048577"><c><v>1</v></c></row>' }),
    ],
    ['is cut off', 422, 'did not arrive whole', () => whole().subarray(0, 500)],
    [
      'is damaged inside',
      422,
      'damaged',
      () => makeZip(workbookParts({ rows: HEADER }).map(part => ({ ...part, saidBytes: 7 }))),
    ],
    [
      'is encrypted part by part',
      415,
      'encrypted',
      () => makeZip(workbookParts({ rows: HEADER }).map(part => ({ ...part, flags: 1 }))),
    ],
    [
      'is packed in another way',
      415,
      'packed in a way',
      () => makeZip(workbookParts({ rows: HEADER }).map(part => ({ ...part, method: 14 }))),
    ],
    [
      'has two parts of one name',
      422,
      'two parts',
      () => makeZip([...workbookParts({ rows: HEADER }), ...workbookParts({ rows: HEADER })]),
    ],
    [
      'is an .xls, or encrypted as a whole',
      415,
      '.xls',
      () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(5_000)]),
    ],
    [
      'is an .ods',
      415,
      'OpenDocument',
      () =>
        makeZip([
          { name: 'mimetype', data: 'application/vnd.oasis.opendocument.spreadsheet', method: 0 },
          { name: 'content.xml', data: '<x/>' },
        ]),
    ],
    ['is another archive', 415, 'archive', () => makeZip([{ name: 'a.txt', data: 'a' }])],
    ['is empty', 422, 'empty', () => makeWorkbook({ rows: '' })],
    ['has no header', 422, 'No column', () => makeWorkbook({ rows: ROW + inlineRow(3, 'Bob', 'second') })],
    ['has headings twice', 422, 'twice: name', () => makeWorkbook({ rows: inlineRow(1, 'Name', 'name') })],
    [
      'has rows in another order',
      422,
      'not in their order',
      () => makeWorkbook({ rows: `<row r="2"/><row r="1"/>` }),
    ],
    [
      'has a heading with a character that is not allowed',
      422,
      'a character that cannot be stored',
      () => makeWorkbook({ rows: inlineRow(1, 'Na_x0000_me', 'Note') + ROW }),
    ],
    [
      'has a heading of half a character',
      422,
      'a character that cannot be stored',
      () => makeWorkbook({ rows: inlineRow(1, 'Name', 'No_xD800_te') + ROW }),
    ],
    [
      'has a heading of 501 characters',
      422,
      'more than 500 characters',
      () => makeWorkbook({ rows: inlineRow(1, 'Name', 'x'.repeat(501)) + ROW }),
    ],
    ['is a picture', 415, 'picture', () => Buffer.from('89504e470d0a1a0a00', 'hex')],
    ['is a web page', 415, 'web page', () => '<html><table><tr><td>Name</td></tr></table></html>'],
    ['is binary without a name for it', 415, 'NUL bytes', () => Buffer.from([1, 0, 2, 3, 0, 0, 7])],
    ['is CSV with 16,385 columns', 413, 'more than 16,384 columns', () => columns.join(',')],
    [
      'is CSV whose first quotation mark is never closed',
      422,
      'never closed',
      () => 'Name,"Note\nAda,first\n',
    ],
    ['is JSON of another shape', 422, 'no "data"', () => '[{"name":"Ada"}]'],
  ])('that %s is answered with %d', async (_what, status, message, make) => {
    const answer = await upload(server, owner, Buffer.from(make()), { dataTypeId }, 'file.xlsx')
    // The background job checks a record of JSON.
    const { error } = answer.status === 202 ? await ended(owner, answer.body.data._id) : { error: null }
    expect([answer.status === 202 ? status : answer.status, error ?? answer.body.message]).toEqual([
      status,
      expect.stringContaining(message),
    ])
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|Error:|\.ts|\.js\b/)
  })

  it.each<[string, string, () => Buffer | string]>([
    [
      'has a cell of 256 MiB',
      'more than 262,144 characters',
      () => makeWorkbook({ rows: bigCell(256 * 1024 * 1024) }),
    ],
    [
      'refers to a text that is not there',
      'column A refers to a text',
      () => makeWorkbook({ rows: `${HEADER}<row r="2"><c r="A2" t="s"><v>9</v></c></row>` }),
    ],
    [
      'ends in the middle of its XML',
      'not valid XML',
      () => makeWorkbook({ rows: `${HEADER}${ROW}<row r="3"><c r="A3">` }),
    ],
    [
      'is CSV whose quotation mark is never closed',
      'never closed',
      () => 'Name,Note\nAda,first\n"Bob,second\n',
    ],
    [
      'is CSV with a row of 2 MiB',
      'more than 1 MiB of text',
      () => `Name,Note\nAda,first\n"${'a\n'.repeat(1024 * 1024)}"\n`,
    ],
    [
      'has a row between two numbers',
      'not in their order',
      () => makeWorkbook({ rows: `${HEADER}${ROW.replace('"2"', '"2.5"')}` }),
    ],
    [
      'is JSON of lists in lists',
      'more than 64 deep',
      () => `[{"data":{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}}]`,
    ],
    ['is JSON that is cut off', 'not whole', () => '[{"data":{"name":"Ada","note":"first"}},{"data":{"na'],
  ])('that %s is refused or fails, and says where', async (_what, message, make) => {
    const before = (await read()).length
    const answer = await upload(server, owner, Buffer.from(make()), { dataTypeId, dryRun: 'true' })
    // Faults within its first bytes are found with the header.
    const done = answer.status === 202 ? await ended(owner, answer.body.data._id) : null
    expect(done?.status ?? answer.status).toBe(done ? 'failed' : message.startsWith('more than') ? 413 : 422)
    expect(done?.error ?? answer.body.message).toContain(message)
    expect(done?.total ?? null).toBeNull()
    expect((await read()).length).toBe(before)
  })

  it('costs bounded memory, whatever is in it, and the server goes on', async () => {
    expect(peakMiB(server.pid) - restingMiB).toBeLessThan(MAX_READER_MIB)
    expect(await send(makeWorkbook({ rows: HEADER + ROW }), { dryRun: 'true' })).toMatchObject({ created: 1 })
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  })
})
