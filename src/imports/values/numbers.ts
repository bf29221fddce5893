import type { Checked } from '../../data/values.ts'

/** How numbers are written in a language: of `1.234` it says whether that is more than a thousand. */
export interface NumberStyle {
  /** Null where numbers are written both ways. */
  decimal: '.' | ',' | null
  /** The organization's currency and how it is written: its code and its signs, in small letters. */
  currency: { code: string; signs: ReadonlySet<string> }
}

export function numberStyle(language: string, currency: string): NumberStyle {
  const part = new Intl.NumberFormat(language).formatToParts(1.5).find(({ type }) => type === 'decimal')
  return {
    decimal: part?.value === ',' ? ',' : '.',
    currency: { code: currency, signs: signsOf(language, currency) },
  }
}

function signsOf(language: string, currency: string): Set<string> {
  const signs = new Set([currency.toLowerCase()])
  for (const locale of ['en', language]) {
    for (const currencyDisplay of ['symbol', 'narrowSymbol'] as const) {
      const format = new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay })
      const sign = format.formatToParts(1).find(({ type }) => type === 'currency')
      if (sign) signs.add(sign.value.toLowerCase())
    }
  }
  return signs
}

/** Spaces of all widths and apostrophes group digits, and mean nothing else. */
const GROUPING = /(?<=\d)[\s\u00a0\u2009\u202f'’](?=\d{3}(?!\d))/g
/** What most cells hold. */
const PLAINEST = /^-?\d+(\.\d\d?)?$/
const PLAIN = /^(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i
/** From the first digit or separator to the last. */
const DIGITS = /[\d.,](?:.*[\d.,])?/s
const SIGNED = /^([+-]?)\s*(.*?)\s*([+-]?)$/s
const POINT_GROUPS = /^[1-9]\d{0,2}(\.\d{3})+$/
const COMMA_GROUPS = /^[1-9]\d{0,2}(,\d{3})+$/

/** A number of which is known what each of its characters is for, but perhaps one: the only separator of `1.234`. */
interface Parts {
  isNegative: boolean
  /** Without what groups them, unless that is not known. */
  digits: string
  /** Null is a number without any separator. */
  decimal: '.' | ',' | 'either' | null
  /** What stands before or after it, without a sign. */
  unit: string
}

/** Takes apart `1.234,5`, `1 234.5 €`, `-0,5`, `(5)`, `1e3`; null is none. */
function takeApart(text: string): Parts | null {
  const given = text.trim().replaceAll('−', '-')
  // As accountants write what is less than nothing.
  const isBracketed = given.startsWith('(') && given.includes(')')
  const whole = isBracketed ? given.slice(1).replace(')', '') : given
  const found = DIGITS.exec(whole)
  if (!found) return null
  const before = SIGNED.exec(whole.slice(0, found.index).trim()) as RegExpExecArray
  const after = whole.slice(found.index + found[0].length).trim()
  // Of two signs, and of a currency on both sides, nobody knows what they are for.
  const signs = `${isBracketed ? '-' : ''}${before[1]}${before[3]}`
  const unit = before[2] as string
  if (signs.length > 1 || (unit !== '' && after !== '')) return null
  const known = separate(found[0].replaceAll(GROUPING, ''))
  if (!known || !PLAIN.test(known.digits.replace(',', '.'))) return null
  return { ...known, isNegative: signs === '-', unit: (unit || after).toLowerCase() }
}

/**
 * Where both separators stand, the last one is of the decimals; one that stands several times groups. One alone before
 * three digits is either.
 */
function separate(digits: string): Pick<Parts, 'digits' | 'decimal'> | null {
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','))
  if (last === -1) return { digits, decimal: null }
  const separator = digits[last] as '.' | ','
  const other = separator === '.' ? ',' : '.'
  const isOnly = digits.indexOf(separator) === last
  const [groups, otherGroups] =
    separator === '.' ? [POINT_GROUPS, COMMA_GROUPS] : [COMMA_GROUPS, POINT_GROUPS]
  if (digits.includes(other)) {
    const whole = digits.slice(0, last)
    if (!isOnly || !otherGroups.test(whole)) return null
    return { digits: whole.replaceAll(other, '') + digits.slice(last), decimal: separator }
  }
  if (!groups.test(digits)) return isOnly ? { digits, decimal: separator } : null
  return isOnly ? { digits, decimal: 'either' } : { digits: digits.replaceAll(separator, ''), decimal: other }
}

/** Whether a text is a number whose decimals are after a point, a comma or, of `1.234`, nobody knows. Null is neither. */
export const decimalOf = (text: string): Parts['decimal'] =>
  /[.,]/.test(text) ? (takeApart(text)?.decimal ?? null) : null

const UNCLEAR: Checked = {
  message:
    'Other rows of this column have numbers both with a decimal point and with a decimal comma, so this could be either: write all of them in one way.',
}
const PERCENTAGE: Checked = {
  message: 'A percentage can be meant as 12 or as 0.12: write the number that is meant, without the sign.',
}

/**
 * A number as people write it, or why a text that looks like one cannot be read. Of `1.234` the style says which it is. A
 * currency is the organization's own. Null where it is no number.
 */
export function readNumber(text: string, { decimal, currency }: NumberStyle): Checked | null {
  if (PLAINEST.test(text)) return { value: Number(text) }
  const parts = takeApart(text)
  if (!parts) return null
  const { unit, isNegative } = parts
  if (unit === '%') return PERCENTAGE
  if (unit !== '' && !currency.signs.has(unit)) return isCurrency(unit) ? foreign(currency.code) : null
  const isEither = parts.decimal === 'either'
  if (isEither && decimal === null) return UNCLEAR
  const isGrouping = isEither && !parts.digits.includes(decimal as string)
  const value = Number(isGrouping ? parts.digits.replace(/[.,]/, '') : parts.digits.replace(',', '.'))
  return Number.isFinite(value) ? { value: isNegative ? -value : value } : null
}

const foreign = (code: string): Checked => ({
  message: `This is an amount in another currency than ${code}, the organization's: convert it, and write the number alone.`,
})
let codes: ReadonlySet<string> | undefined
function isCurrency(unit: string): boolean {
  codes ??= new Set(Intl.supportedValuesOf('currency').map(code => code.toLowerCase()))
  return /^\p{Sc}$/u.test(unit) || codes.has(unit)
}

/** Spreadsheets keep 15 digits, and make zeros of the rest of a whole number. */
export const hasAllDigits = (value: number): boolean => !Number.isInteger(value) || Math.abs(value) < 1e15

/** A number of a spreadsheet as its digits: 84912345678, never 8.49e+10. */
export function writeDigits(value: number): string {
  if (!Number.isInteger(value)) return String(value)
  return Math.abs(value) < 1e21 ? BigInt(value).toString() : String(value)
}
