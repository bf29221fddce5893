import { withoutMarks } from './fold.ts'

/** The zeros of the digits in use; the other nine digits follow each. */
const ZEROS = [...'٠۰०০੦૦୦௦౦೦൦๐໐༠၀០'].map(zero => zero.charCodeAt(0))

/**
 * Writes a number or a day with ASCII digits and signs. The text may be in full width, as Japanese and Chinese input
 * methods write it, or in Arabic, Persian, Hindi or Thai digits. The Arabic thousands separator groups nothing else,
 * and becomes an apostrophe.
 */
export function plainDigits(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text
  return withoutMarks(text)
    .replaceAll(/[！-～]/g, sign => String.fromCharCode(sign.charCodeAt(0) - 0xfee0))
    .replaceAll('٬', "'")
    .replaceAll('٫', '.')
    .replaceAll(/\p{Nd}/gu, digit => {
      const code = digit.charCodeAt(0)
      const zero = ZEROS.find(one => code >= one && code < one + 10)
      return zero === undefined ? digit : String(code - zero)
    })
}
