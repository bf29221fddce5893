import iconv from 'iconv-lite'
import type { ImportFormat } from '../../db/queries/imports.ts'
import { unimportable, unsupported } from './file-error.ts'
import { readHead } from './readers/head.ts'
import { detectUtf16, SAMPLE_BYTES } from './readers/text-file.ts'

/** The signatures of a zip with parts and of an empty one; "PK" alone would not do, because a table may begin with it. */
const ZIPS = [Buffer.from('PK\u0003\u0004'), Buffer.from('PK\u0005\u0006')]
const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** Other files that people send, by their first bytes. */
const OTHERS: [bytes: Buffer, message: string][] = [
  [Buffer.from('%PDF'), 'This is a PDF: save the table as .xlsx or .csv.'],
  [Buffer.from([0x1f, 0x8b]), 'This is a compressed file: send it unpacked.'],
  [Buffer.from('Rar!'), 'This is a compressed file: send it unpacked.'],
  [Buffer.from('7z\xbc\xaf', 'latin1'), 'This is a compressed file: send it unpacked.'],
  [Buffer.from([0x89, 0x50, 0x4e, 0x47]), 'This is a picture.'],
  [Buffer.from([0xff, 0xd8, 0xff]), 'This is a picture.'],
]

/** Detects the format of a file by its content, not by its name. Throws a FileError for formats that are not supported. */
export async function detectFormat(path: string): Promise<ImportFormat> {
  const head = await readHead(path, SAMPLE_BYTES)
  if (ZIPS.some(zip => head.subarray(0, zip.length).equals(zip))) return 'xlsx'
  if (head.subarray(0, OLE.length).equals(OLE)) {
    throw unsupported(
      'This is an old .xls workbook, or one that a password protects: save it as .xlsx without a password.',
    )
  }
  const other = OTHERS.find(([bytes]) => head.subarray(0, bytes.length).equals(bytes))
  if (other) throw unsupported(other[1])
  // A byte order mark is not decoded.
  const begin = iconv.decode(head, detectUtf16(head) ?? 'utf8').trimStart()
  if (/^<(\?xml|!doctype|html|\w+[\s>])/i.test(begin)) {
    throw unsupported(
      'This is a web page or an XML file, whatever it is called: save the table as .xlsx or .csv.',
    )
  }
  if (/^\{\s*("|\}|$)/.test(begin)) {
    throw unimportable('This is one object of JSON: send the array of records itself, [{ "data": { … } }].')
  }
  return /^\[\s*(\{|\]|$)/.test(begin) ? 'json' : 'csv'
}
