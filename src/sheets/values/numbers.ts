import type { Checked } from './checked.ts'
import { plainDigits } from './digits.ts'
import { withoutMarks } from './fold.ts'

/** How a language writes numbers: it decides whether `1.234` is more than a thousand. */
export interface NumberStyle {
  /** Null if numbers are written both ways. */
  decimal: '.' | ',' | null
  /** The organization's currency: its code, and its signs in lower case. */
  currency: { code: string; signs: ReadonlySet<string> }
}

export function numberStyle(language: string, currency: string): NumberStyle {
  const part = new Intl.NumberFormat(language).formatToParts(1.5).find(({ type }) => type === 'decimal')
  return {
    decimal: part?.value === ',' ? ',' : '.',
    currency: { code: currency, signs: signsOf(language, currency) },
  }
}

/** Signs of currencies that people write and Intl does not list. */
const ALSO: { [code: string]: readonly string[] } = { CHF: ['fr', 'sfr'], INR: ['rs'], TRY: ['tl'] }

function signsOf(language: string, currency: string): Set<string> {
  const signs = new Set([currency.toLowerCase(), ...(ALSO[currency] ?? [])])
  for (const locale of ['en', language]) {
    for (const currencyDisplay of ['symbol', 'narrowSymbol', 'name'] as const) {
      const format = new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay })
      for (const amount of [1, 2, 5]) {
        const sign = format.formatToParts(amount).find(({ type }) => type === 'currency')
        if (sign) signs.add(writeUnit(sign.value))
      }
    }
  }
  return signs
}

/** A unit without its optional parts: `kr.`, `KR` and `kr` are the same. */
const writeUnit = (unit: string) =>
  withoutMarks(unit)
    .normalize('NFKC')
    .toLowerCase()
    .trim()
    .replace(/(?<=\p{L})\.$/u, '')

/** A single blank within a line, or an apostrophe, groups digits and means nothing else. */
const GROUPED = /^[1-9]\d{0,2}([ \u00a0\u2007\u2009\u202f'’])\d{3}(?:\1\d{3})*(?!\d)/
/** The form of most cells. */
const PLAINEST = /^-?\d+(\.\d\d?)?$/
const PLAIN = /^(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i
/** From the first digit, or a separator right before it, to the last digit. */
const DIGITS = /[.,]?\d(?:.*\d)?/s
/** The separator without decimals, with or without a dash in their place: `5,-`, `5.`. */
const NO_DECIMALS = /^([.,])[-–—]{0,2}/
const SIGNED = /^([+-]?)\s*(.*?)\s*([+-]?)$/s
/** The accountants' form of a negative number: brackets around it, with the currency inside or outside. */
const BRACKETED = /^([^()\d]*)\(([^()]*)\)([^()\d]*)$/
const POINT_GROUPS = /^[1-9]\d{0,2}(\.\d{3})+$/
/** Groups of three digits or, as in India, of two before the last three. */
const COMMA_GROUPS = /^[1-9]\d{0,2}(,\d{3})+$|^[1-9]\d?(,\d\d)+,\d{3}$/

/** A number whose characters are all understood, except perhaps one: the only separator of `1.234`. */
interface Parts {
  isNegative: boolean
  /** The digits without group separators, unless it is unclear whether the separator groups. */
  digits: string
  /** Null for a number without any separator. */
  decimal: '.' | ',' | 'either' | null
  /** The text before or after the number, without a sign. */
  unit: string
}

/** Takes apart `1.234,5`, `1 234.5 €`, `-0,5`, `(5)`, `$(5)`, `Fr. 5.–`, `1e3`; null if the text is no number. */
function takeApart(text: string, { code, signs }: NumberStyle['currency']): Parts | null {
  const given = plainDigits(text).trim().replaceAll('−', '-')
  const bracketed = BRACKETED.exec(given)
  const whole = bracketed ? bracketed.slice(1).join('') : given
  const found = DIGITS.exec(whole)
  if (!found) return null
  let [digits] = found
  let unitBefore = whole.slice(0, found.index)
  let unitAfter = whole.slice(found.index + digits.length)
  if (/\p{L}$/u.test(unitBefore) && /^[.,]/.test(digits)) {
    // A point after letters ends their abbreviation, as in `kr.5`; in `EUR.5` it is unclear.
    const sign = writeUnit(unitBefore)
    if (digits[0] === ',' || sign === code.toLowerCase() || !signs.has(sign)) return null
    unitBefore += digits[0]
    digits = digits.slice(1)
  }
  const noDecimals = NO_DECIMALS.exec(unitAfter)
  if (noDecimals) {
    digits += noDecimals[1]
    unitAfter = unitAfter.slice(noDecimals[0].length)
  }
  // SAP's form of a negative number: `5,00-`.
  const isBelow = unitAfter[0] === '-' && !noDecimals
  if (isBelow) unitAfter = unitAfter.slice(1)
  const before = SIGNED.exec(unitBefore.trim()) as RegExpExecArray
  const after = unitAfter.trim()
  // Two signs, or a currency on both sides, have no clear meaning.
  const sign = `${bracketed ? '-' : ''}${before[1]}${before[3]}${isBelow ? '-' : ''}`
  const unit = before[2] as string
  if (sign.length > 1 || (unit !== '' && after !== '')) return null
  const known = separate(digits.replace(GROUPED, group => group.replaceAll(/\D/g, '')))
  if (!known || !PLAIN.test(known.digits.replace(',', '.'))) return null
  return { ...known, isNegative: sign === '-', unit: writeUnit(unit || after) }
}

/**
 * With both separators, the last one begins the decimals; a separator that occurs several times groups. A single one
 * before three digits may be either.
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

/**
 * Whether a number's decimals follow a point or a comma, or whether it is unclear, as in `1.234`. Null if neither
 * occurs.
 */
export const decimalOf = (text: string, { currency }: NumberStyle): Parts['decimal'] =>
  /[.,．，٫]/.test(text) ? (takeApart(text, currency)?.decimal ?? null) : null

const UNCLEAR: Checked = {
  message:
    'Other rows of this column have numbers both with a decimal point and with a decimal comma, so this could be either: write all of them in one way.',
}
const PERCENTAGE: Checked = {
  message: 'A percentage can be meant as 12 or as 0.12: write the number that is meant, without the sign.',
}

/**
 * Reads a number as people write it, or returns why it cannot be read. The style decides the meaning of `1.234`. Only
 * the organization's own currency is accepted. Null if the text is no number.
 */
export function readNumber(text: string, { decimal, currency }: NumberStyle): Checked | null {
  if (PLAINEST.test(text)) return whole(Number(text), text.replace('-', '')) ?? { value: Number(text) }
  const parts = takeApart(text, currency)
  if (!parts) return null
  const { unit, isNegative } = parts
  if (unit === '%') return PERCENTAGE
  if (unit !== '' && !currency.signs.has(unit)) return isCurrency(unit) ? foreign(currency.code) : null
  const isEither = parts.decimal === 'either'
  if (isEither && decimal === null) return UNCLEAR
  const isGrouping = isEither && !parts.digits.includes(decimal as string)
  const value = Number(isGrouping ? parts.digits.replace(/[.,]/, '') : parts.digits.replace(',', '.'))
  if (!Number.isFinite(value)) return null
  return whole(value, parts.digits.replaceAll(/[.,]/g, '')) ?? { value: isNegative ? -value : value }
}

/** Decimals may be rounded, but a whole number must keep every digit. */
function whole(value: number, digits: string): Checked | null {
  const kept = Math.abs(value)
  if (kept <= Number.MAX_SAFE_INTEGER || !/^\d+$/.test(digits)) return null
  const isKept = BigInt(digits) === BigInt(kept) || digits.replace(/^0+/, '') === String(kept)
  return isKept ? null : LOST_DIGITS
}
const LOST_DIGITS: Checked = {
  message:
    'This has more digits than a number keeps, which would end in others: write fewer, or make the field a text.',
}

const foreign = (code: string): Checked => ({
  message: `This is an amount in another currency than ${code}, the organization's: convert it, and write the number alone.`,
})
let codes: ReadonlySet<string> | undefined
function isCurrency(unit: string): boolean {
  codes ??= new Set(Intl.supportedValuesOf('currency').map(code => code.toLowerCase()))
  return /^\p{Sc}$/u.test(unit) || codes.has(unit)
}

/** Spreadsheets keep 15 digits of a whole number, and replace the others by zeros. */
export const hasAllDigits = (value: number): boolean => !Number.isInteger(value) || Math.abs(value) < 1e15

/** The digits of a spreadsheet's number: 84912345678, never 8.49e+10. */
export function writeDigits(value: number): string {
  if (!Number.isInteger(value)) return String(value)
  return Math.abs(value) < 1e21 ? BigInt(value).toString() : String(value)
}
