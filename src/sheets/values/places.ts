import { type Cell, cellText, isBlank } from '../cell.ts'
import { plainDigits } from './digits.ts'

const POINT = String.raw`[+-]?\d{1,3}(?:\.\d+)?(?:e-\d{1,3})?`
const COMMA = String.raw`[+-]?\d{1,3}(?:,\d+)?`
const ADDRESS = String.raw`(?:\s*\((.+)\)|\s*[,;|]\s*(\S.*))?`
/** `52,5` is unclear: two whole degrees, or one number with a decimal comma. */
const UNCLEAR = String.raw`[+-]?\d+,\d+(?![\d.e])`
const PLACES = [
  // Degrees with a decimal comma need another separator between them, or a blank after it: `52,5; 13,4`, `52,5, 13,4`.
  new RegExp(String.raw`^(${COMMA})(?:\s*[;|]\s*|,\s+)(${COMMA})${ADDRESS}$`, 's'),
  new RegExp(String.raw`^(?!${UNCLEAR})(${POINT})\s*[,;|]\s*(${POINT})${ADDRESS}$`, 's'),
  new RegExp(String.raw`^(${COMMA})\s+(${COMMA})()()$`),
  new RegExp(String.raw`^(${POINT})\s+(${POINT})()()$`),
]
/** A rest that shows that numbers were separated in another way. */
const NUMBERS = /^[+-]?\d[\d\s.,;|+-]*$/

/** Longer texts are no degrees. */
const MAX_DEGREES = 40

/** A place as `lat, lng`, with an optional address after it or in brackets, or as JSON; null if the text is no place. */
export function readPlace(text: string): { lat: number; lng: number; address?: string } | null {
  const given = text.trim()
  if (given.startsWith('{')) {
    try {
      return JSON.parse(given)
    } catch {
      return null
    }
  }
  for (const pattern of PLACES) {
    const found = pattern.exec(given)
    if (!found) continue
    const [lat, lng] = [found[1], found[2]].map(degrees => Number(degrees?.replace(',', '.')))
    const [bracketed, after = ''] = [found[3], found[4]?.trim()]
    if (NUMBERS.test(after)) return null
    const address = bracketed || after
    return { lat: lat as number, lng: lng as number, ...(address ? { address } : {}) }
  }
  return null
}

const DEGREES = new RegExp(`^(?:${POINT}|${COMMA})$`)

/**
 * The degrees of a cell of latitudes or longitudes; null if it has none. Nobody groups the digits of degrees, so
 * `13,405` is no thousand.
 */
export function degreesOf(cell: Cell): number | null {
  if (typeof cell === 'number') return cell
  if (typeof cell === 'string') {
    const text = plainDigits(cell).trim().replace('\u2212', '-').replace(/\s*°$/, '')
    return text.length <= MAX_DEGREES && DEGREES.test(text) ? Number(text.replace(',', '.')) : null
  }
  if (cell === null || typeof cell !== 'object') return null
  if ('json' in cell) return typeof cell.json === 'object' ? null : degreesOf(cell.json as Cell)
  return 'number' in cell && (cell.as === undefined || cell.as === 'amount') ? cell.number : null
}

const NEEDS_BOTH = 'A place has both a latitude and a longitude.'
const NO_DEGREES =
  'This has to be a latitude (-90 to 90) and a longitude (-180 to 180) in degrees, such as 52.52 and 13.405.'

/** Joins a place from columns for its latitude, its longitude and optionally its address; null if all are blank. */
export function joinPlace([lat = null, lng = null, address = null]: readonly Cell[]):
  | { cell: Cell }
  | { message: string } {
  const cells = [lat, lng, address]
  if (cells.every(isEmpty)) return { cell: null }
  for (const cell of cells)
    if (typeof cell === 'object' && cell !== null && 'fault' in cell)
      return { message: `The cell holds no value: ${cell.fault}.` }
  if (isEmpty(lat) || isEmpty(lng)) return { message: NEEDS_BOTH }
  const [y, x] = [degreesOf(lat), degreesOf(lng)]
  if (y === null || x === null || Math.abs(y) > 90 || Math.abs(x) > 180) return { message: NO_DEGREES }
  return { cell: { json: { lat: y, lng: x, ...(!isEmpty(address) && { address: cellText(address) }) } } }
}

const isEmpty = (cell: Cell) =>
  isBlank(cell) || (typeof cell === 'object' && cell !== null && 'json' in cell && isBlank(cell.json as Cell))
