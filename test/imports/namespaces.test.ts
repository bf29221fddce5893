import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openSource } from '../../src/sheets/open-source.ts'
import { makeZip, type Part, workbookParts } from '../support/workbooks.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-namespaces-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

async function readTable(parts: readonly Part[]): Promise<unknown> {
  const path = join(folder, String(++files))
  writeFileSync(path, makeZip(parts))
  const source = await openSource({ path, format: 'xlsx' }, [])
  const rows: unknown[] = []
  try {
    for await (const row of source.rows) rows.push(row)
  } finally {
    source.close()
  }
  return { rows, date1904: source.date1904?.() }
}

/** A workbook with every element that the readers use. */
const whole = () =>
  workbookParts({
    date1904: true,
    styles:
      '<numFmts><numFmt numFmtId="170" formatCode="00000"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/></cellXfs>',
    shared: ['Name', 'Ada'],
    rows: `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><r><t>Da</t></r><r><t>y</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is></c></row>
      <row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>44619</v></c><c r="C2" s="2"><v>1067</v></c><c r="D2"><f>1+1</f></c></row>
      <row r="4"><c t="b"><v>1</v></c><c t="e"><v>#REF!</v></c><c t="str"><f>A1</f><v>a &amp; b</v></c><c><f>1+1</f><v>2</v></c></row>`,
  }).map(part => ({
    ...part,
    data: String(part.data)
      .replace('>Ada<', '>A<')
      .replace('</t></si></sst>', '</t><rPh sb="0" eb="1"><t>no</t></rPh><r><t>da</t></r></si></sst>'),
  }))

const TAG = /<(\/?)([A-Za-z][\w:]*)([^<>]*?)(\/?)>/g
const namesIn = (parts: readonly Part[]) =>
  new Set(parts.flatMap(({ data }) => [...String(data).matchAll(TAG)].map(([, , name]) => name as string)))
const attributesIn = (parts: readonly Part[]) =>
  new Set(
    parts.flatMap(({ data }) =>
      [...String(data).matchAll(/ ([A-Za-z]\w*)="/g)].map(([, name]) => name as string),
    ),
  )

/** Returns the parts with `more` behind each tag within their root, and with more attributes in each tag. */
const fill = (parts: readonly Part[], more: string, attributes = '') =>
  parts.map(part => {
    let depth = 0
    const data = String(part.data).replaceAll(
      TAG,
      (tag, ends: string, name: string, own: string, empty: string) => {
        if (ends) depth--
        else if (!empty) depth++
        const added = ends ? tag : `<${name}${own}${attributes}${empty}>`
        return depth > 0 ? added + more : added
      },
    )
    return { ...part, data }
  })

const FOREIGN = 'http://example.com/foreign'
const STRICT: [string, string][] = [
  [
    'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
    'http://purl.oclc.org/ooxml/spreadsheetml/main',
  ],
  [
    'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
    'http://purl.oclc.org/ooxml/officeDocument/relationships',
  ],
]
const VALUES: { [name: string]: string } = {
  ...{ date1904: '0', r: 'C9', t: 's', s: '2', numFmtId: '14', formatCode: '0%', state: 'hidden' },
  ...{ Id: 'rId1', Type: `${STRICT[1]?.[0]}/worksheet`, Target: 'worksheets/sheet1.xml', id: 'rId9' },
}

describe('In a workbook', () => {
  const parts = whole()
  const names = [...namesIn(parts)]
  const attributes = [...attributesIn(parts).add('state').add('id')].filter(name => name !== 'xmlns')
  const said = (prefix: string) =>
    attributes.map(name => ` ${prefix}${name}="${VALUES[name] ?? '9'}"`).join('')

  it('every element that the readers know is in the one that is tried here', () => {
    const readers = new URL('../../src/sheets/readers/', import.meta.url)
    const known = readdirSync(readers).flatMap(file =>
      [...readFileSync(new URL(file, readers), 'utf8').matchAll(/(?:name|element) [!=]== '(\w+)'/g)].map(
        ([, name]) => name as string,
      ),
    )
    expect(known.length).toBeGreaterThan(15)
    expect(known.filter(name => !names.includes(name))).toEqual([])
  })

  it.each(['', 'x:'])(
    'elements of other namespaces say nothing, wherever they stand: prefix %j',
    async prefix => {
      const expected = await readTable(parts)
      expect(expected).toMatchObject({ date1904: true, rows: { length: 3 } })
      const prefixed = parts.map(part => ({
        ...part,
        data: String(part.data)
          .replaceAll(/<(\/?)([A-Za-z])/g, `<$1${prefix}$2`)
          .replaceAll('xmlns=', prefix ? 'xmlns:x=' : 'xmlns='),
      }))
      const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
      for (const make of [
        (name: string) =>
          `<f:${name} xmlns:f="${FOREIGN}"${said('')}>9<${name} ${main}${said('')}>9</${name}></f:${name}>`,
        (name: string) => `<${name} xmlns="${FOREIGN}"${said('')}><![CDATA[9]]></${name}>`,
        (name: string) => `<${name} xmlns=""${said('')}/>`,
      ]) {
        const foreign = names.map(make).join('')
        expect(await readTable(fill(prefixed, foreign, ` xmlns:g="${FOREIGN}"${said('g:')}`))).toEqual(
          expected,
        )
      }
    },
  )

  it('the strict form of the namespaces says the same', async () => {
    const strict = parts.map(part => ({
      ...part,
      data: STRICT.reduce((data, [from, to]) => data.replaceAll(from, to), String(part.data)),
    }))
    expect(await readTable(strict)).toEqual(await readTable(parts))
  })

  it('dates count from 1904 where Excel adds its own element of the same name', async () => {
    const added =
      '<x14:workbookPr xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" defaultImageDpi="32767"/>'
    const excel = parts.map(part => ({
      ...part,
      data: String(part.data).replace('<sheets>', `${added}${added.replaceAll('x14', 'x15')}<sheets>`),
    }))
    expect(await readTable(excel)).toMatchObject({ date1904: true })
  })

  it('the last of alternatives counts, which is for readers that know no other namespaces', async () => {
    const mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    const excel = parts.map(part => ({
      ...part,
      data: String(part.data).replaceAll(
        /<(v|sheets)>.*?<\/\1>/g,
        element =>
          `<mc:AlternateContent ${mc}><mc:Choice xmlns:f="${FOREIGN}" Requires="f">${element.replaceAll(/\d/g, '7')}</mc:Choice><mc:Fallback>${element}</mc:Fallback></mc:AlternateContent>`,
      ),
    }))
    expect(await readTable(excel)).toEqual(await readTable(parts))
  })

  it.each([
    'xl/workbook.xml',
    'xl/worksheets/sheet2.xml',
    'xl/styles.xml',
    'xl/sharedStrings.xml',
    '_rels/.rels',
  ])('a part in no namespace of a workbook refuses the file: %s', async name => {
    const other = parts.map(part => ({
      ...part,
      data: part.name === name ? String(part.data).replace(/ xmlns="[^"]*"/, '') : part.data,
    }))
    await expect(readTable(other)).rejects.toThrow('in a namespace that no workbook has')
  })
})
