import { posix } from 'node:path'
import { unimportable, unsupported } from '../file-error.ts'
import { quote } from '../quotes.ts'
import { OFFICE_RELATIONSHIPS, PACKAGE_RELATIONSHIPS, readWhole, SPREADSHEET } from './xml.ts'
import type { Parts } from './zip.ts'

/** How a style shows numbers; a number is the minimum of digits. A time is one without a day. */
export type NumberFormat = 'day' | 'time' | 'duration' | 'percentage' | 'amount' | number

/** The parts of a workbook that are needed to read its first sheet. */
export interface Workbook {
  sheet: string
  sharedStrings: string | null
  /** Whether days count from 1904. */
  date1904: boolean
  /** By the style's index. */
  formats: NumberFormat[]
}

const MAX_SHEETS = 10_000
const MAX_STYLES = 100_000
/** The maximum length of a format; Excel accepts no longer one. */
const MAX_FORMAT = 255
/** The maximum length of a part's name, including its directories. */
const MAX_NAME = 1_000

/**
 * Finds the first sheet by the workbook's own list, not by the order of its parts. [ECMA-376 part 1, 18.2 and part 2,
 * 6.5]
 */
export async function readWorkbook(parts: Parts): Promise<Workbook> {
  const root = await readRelations(parts, '_rels/.rels')
  const main = [...root.values()].find(({ kind }) => kind === 'officeDocument')?.target
  if (!main || !parts.has(main) || !/\.xml$/i.test(main)) throw explainOther(parts)
  const relations = await readRelations(
    parts,
    posix.join(posix.dirname(main), '_rels', `${posix.basename(main)}.rels`),
  )
  const sheets: { id: string; name: string; isHidden: boolean }[] = []
  let date1904 = false
  await readWhole(await parts.read(main), 'The list of sheets', SPREADSHEET, {
    open(name, attributes, namespaceOf) {
      if (name === 'workbookPr') date1904 = /^(1|true|on)$/i.test(attributes.date1904 ?? '')
      if (name !== 'sheet' || sheets.length >= MAX_SHEETS) return
      const id = Object.entries(attributes).find(([key]) => {
        const [prefix = '', local] = key.split(':')
        return local === 'id' && OFFICE_RELATIONSHIPS.includes(namespaceOf(prefix) ?? '')
      })?.[1]
      if (id === undefined) return
      const isHidden = /^(veryH|h)idden$/.test(attributes.state ?? '')
      sheets.push({ id, name: attributes.name ?? '', isHidden })
    },
  })
  const ofKind = (wanted: string) =>
    [...relations.values()].find(({ kind }) => kind === wanted)?.target ?? null
  const first = sheets.find(({ id }) => relations.get(id)?.kind === 'worksheet')
  const sheet = first && relations.get(first.id)?.target
  if (!sheet || !parts.has(sheet)) throw unimportable('The workbook has no sheet with cells.')
  // People who open the file see another sheet first.
  if (first.isHidden) {
    throw unimportable(
      `The first sheet is the one that is read, and it is hidden: "${quote(first.name, 40)}". Move the table before it.`,
    )
  }
  const styles = ofKind('styles')
  const sharedStrings = ofKind('sharedStrings')
  return {
    sheet,
    sharedStrings: sharedStrings && parts.has(sharedStrings) ? sharedStrings : null,
    date1904,
    formats: styles && parts.has(styles) ? await readStyles(parts, styles) : [],
  }
}

function explainOther(parts: Parts): Error {
  const names = parts.names()
  if (names.includes('mimetype') || names.includes('content.xml')) {
    return unsupported('This is an OpenDocument file, whatever it is called: save it as .xlsx.')
  }
  if (names.some(name => /xl\/workbook\.bin$/.test(name))) {
    return unsupported('This is a binary workbook (.xlsb): save it as .xlsx.')
  }
  if (names.some(name => /^(word|ppt)\//.test(name))) {
    return unsupported('This is a document and no workbook: save the table as .xlsx or .csv.')
  }
  return unsupported('This is an archive and no workbook: send an .xlsx or .csv file.')
}

interface Relation {
  /** The kind of the part, which is the last word of its type; null for a type of another namespace. */
  kind: string | null
  target: string
}

/** The relations of a part by identifier, except those to targets outside of the file. */
async function readRelations(parts: Parts, name: string): Promise<Map<string, Relation>> {
  const relations = new Map<string, Relation>()
  if (!parts.has(name)) return relations
  const base = posix.join(posix.dirname(name), '..')
  await readWhole(await parts.read(name), 'The list of parts', PACKAGE_RELATIONSHIPS, {
    open(element, { Id, Type, Target, TargetMode }) {
      if (element !== 'Relationship' || !Id || !Type || !Target || TargetMode === 'External') return
      if (relations.size >= MAX_SHEETS || Target.length > MAX_NAME) return
      const target = Target.startsWith('/') ? Target.slice(1) : posix.join(base, Target)
      relations.set(Id, { kind: kindOf(Type), target })
    },
  })
  return relations
}

function kindOf(type: string): string | null {
  const end = type.lastIndexOf('/')
  return OFFICE_RELATIONSHIPS.includes(type.slice(0, end)) ? type.slice(end + 1) : null
}

/** The number formats built into every workbook. [ECMA-376 part 1, 18.8.30] */
function builtIn(id: number): NumberFormat {
  const within = (first: number, last: number) => id >= first && id <= last
  if (id === 46) return 'duration'
  if (within(18, 21) || id === 45 || id === 47) return 'time'
  if (within(14, 22) || within(27, 36) || within(50, 58)) return 'day'
  if (id === 9 || id === 10) return 'percentage'
  return within(2, 13) || within(37, 44) || id === 48 ? 'amount' : 0
}

async function readStyles(parts: Parts, name: string): Promise<NumberFormat[]> {
  const codes = new Map<number, NumberFormat>()
  const formats: NumberFormat[] = []
  let inCells = false
  await readWhole(await parts.read(name), 'The list of styles', SPREADSHEET, {
    open(element, { numFmtId, formatCode }) {
      if (element === 'numFmt' && codes.size < MAX_STYLES)
        codes.set(Number(numFmtId), readFormat(formatCode ?? ''))
      else if (element === 'cellXfs') inCells = true
      else if (element === 'xf' && inCells && formats.length < MAX_STYLES) {
        const id = Number(numFmtId ?? 0)
        formats.push(codes.get(id) ?? builtIn(id))
      }
    },
    close(element) {
      if (element === 'cellXfs') inCells = false
    },
  })
  return formats
}

function readFormat(code: string): NumberFormat {
  // A format of zeros alone is used for postcodes and other numbers that people do not calculate with.
  if (/^0{1,20}$/.test(code)) return code.length
  if (code.length > MAX_FORMAT) return 0
  const [positive = ''] = code.replaceAll(/"[^"]*"|\\.|_.|\*./g, '').split(';')
  if (/\[(?:h+|m+|s+)\]/i.test(positive)) return 'duration'
  const shown = positive.replaceAll(/\[[^\]]*\]/g, '')
  if (/general/i.test(shown)) return 0
  if (/[dy]/i.test(shown)) return 'day'
  if (/[hs]/i.test(shown)) return 'time'
  if (/m/i.test(shown)) return 'day'
  if (shown.includes('%')) return 'percentage'
  return /[0#?]/.test(shown) ? 'amount' : 0
}
