/** How numbers are written in a language: of `1.234` it says whether that is more than a thousand. */
export interface NumberStyle {
  decimal: '.' | ','
}

export function numberStyle(language: string): NumberStyle {
  const part = new Intl.NumberFormat(language).formatToParts(1.5).find(({ type }) => type === 'decimal')
  return { decimal: part?.value === ',' ? ',' : '.' }
}

/** Spaces of all widths and apostrophes group digits, and mean nothing else. */
const GROUPING = /(?<=\d)[\s\u00a0\u2009\u202f'’](?=\d{3}(?!\d))/g
const PLAIN = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i

/**
 * A number as people write it: `1.234,5`, `1 234.5`, `-0,5`, `1e3`. Where both separators stand, the last one is of the
 * decimals; one that stands several times groups. One alone before three digits is as the language has it. Null where
 * it is no number.
 */
export function readNumber(text: string, { decimal }: NumberStyle): number | null {
  const digits = text.trim().replace('−', '-').replaceAll(GROUPING, '')
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','))
  if (last === -1) return toNumber(digits)
  const separator = digits[last] as '.' | ','
  const other = separator === '.' ? ',' : '.'
  const isOnly = digits.indexOf(separator) === last
  const groups = new RegExp(`^[+-]?[1-9]\\d{0,2}(\\${separator}\\d{3})+$`)
  if (digits.includes(other)) {
    if (!isOnly) return null
    const whole = digits.slice(0, last)
    if (!new RegExp(`^[+-]?[1-9]\\d{0,2}(\\${other}\\d{3})+$`).test(whole)) return null
    return toNumber(`${whole.replaceAll(other, '')}.${digits.slice(last + 1)}`)
  }
  const isGrouping = groups.test(digits) && (!isOnly || separator !== decimal)
  if (isGrouping) return toNumber(digits.replaceAll(separator, ''))
  return isOnly ? toNumber(digits.replace(separator, '.')) : null
}

function toNumber(digits: string): number | null {
  if (!PLAIN.test(digits)) return null
  const value = Number(digits)
  return Number.isFinite(value) ? value : null
}

/** Spreadsheets keep 15 digits, and make zeros of the rest of a whole number. */
export const hasAllDigits = (value: number): boolean => !Number.isInteger(value) || Math.abs(value) < 1e15

/** A number of a spreadsheet as its digits: 84912345678, never 8.49e+10. */
export function writeDigits(value: number): string {
  if (!Number.isInteger(value)) return String(value)
  return Math.abs(value) < 1e21 ? BigInt(value).toString() : String(value)
}
