import { crc32, deflateRawSync } from 'node:zlib'

/** A part of a zip, with the values that a dishonest one may declare. */
export interface Part {
  name: string
  data: Buffer | string
  flags?: number
  method?: number
  saidBytes?: number
}

/** A zip, byte by byte: as honest as its parts. */
export function makeZip(parts: readonly Part[]): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, data, flags = 0, method = 8, saidBytes } of parts) {
    const bytes = Buffer.from(data)
    const packed = method === 8 ? deflateRawSync(bytes, { level: 1 }) : bytes
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags, 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(saidBytes ?? bytes.length, 18)
    common.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, rest, Buffer.from(name)]),
    )
    files.push(local)
    offset += local.length
  }
  const all = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(all.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, all, end])
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships'

interface Workbook {
  /** The contents of `<sheetData>`. */
  rows: string
  /** XML before the sheet, and after its cells. */
  prolog?: string
  after?: string
  shared?: readonly string[]
  /** The contents of `<styleSheet>`. */
  styles?: string
  date1904?: boolean
  /** More parts, before all others. */
  first?: Part[]
}

/** The parts of a workbook with two sheets: the second one comes first in the zip, and has no effect. */
export function workbookParts({
  rows,
  prolog = '',
  after = '',
  shared,
  styles,
  date1904,
  first = [],
}: Workbook): Part[] {
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
  const sheet = (data: string, more = '', before = '') =>
    `${XML}${before}<worksheet xmlns="${MAIN}"><sheetData>${data}</sheetData>${more}</worksheet>`
  return [
    ...first,
    {
      name: '[Content_Types].xml',
      data: `${XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      data: sheet('<row r="1"><c r="A1" t="inlineStr"><is><t>Wrong</t></is></c></row>'),
    },
    { name: 'xl/worksheets/sheet2.xml', data: sheet(rows, after, prolog) },
    {
      name: 'xl/_rels/workbook.xml.rels',
      data: `${XML}<Relationships xmlns="${PACKAGE}">${relation('rId9', 'worksheet', 'worksheets/sheet1.xml')}${relation('rId1', 'worksheet', 'worksheets/sheet2.xml')}${shared ? relation('rId3', 'sharedStrings', 'sharedStrings.xml') : ''}${styles ? relation('rId4', 'styles', 'styles.xml') : ''}</Relationships>`,
    },
    {
      name: 'xl/workbook.xml',
      data: `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}">${date1904 ? '<workbookPr date1904="1"/>' : ''}<sheets><sheet name="First" sheetId="7" r:id="rId1"/><sheet name="Second" sheetId="1" r:id="rId9"/></sheets></workbook>`,
    },
    ...(styles
      ? [{ name: 'xl/styles.xml', data: `${XML}<styleSheet xmlns="${MAIN}">${styles}</styleSheet>` }]
      : []),
    ...(shared
      ? [
          {
            name: 'xl/sharedStrings.xml',
            data: `${XML}<sst xmlns="${MAIN}">${shared.map(text => `<si><t xml:space="preserve">${text}</t></si>`).join('')}</sst>`,
          },
        ]
      : []),
    {
      name: '_rels/.rels',
      data: `${XML}<Relationships xmlns="${PACKAGE}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    },
  ]
}

export const makeWorkbook = (workbook: Workbook): Buffer => makeZip(workbookParts(workbook))

/** A row of inline texts. */
export const inlineRow = (number: number, ...texts: string[]): string =>
  `<row r="${number}">${texts.map((text, at) => `<c r="${String.fromCharCode(65 + at)}${number}" t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`
