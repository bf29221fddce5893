import { withoutMarks } from './fold.ts'

/** The zeros of the digits in use; their nine others follow each. */
const ZEROS = [...'٠۰०০੦૦୦௦౦೦൦๐໐༠၀០'].map(zero => zero.charCodeAt(0))

/**
 * A number or a day with the digits and signs of ASCII: as the input methods of Japan and China write it in full width, or in the digits of
 * Arabic, Persian, Hindi, Thai. What groups digits in Arabic groups nothing else, and is an apostrophe.
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
