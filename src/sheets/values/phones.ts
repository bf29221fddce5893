import { withoutMarks } from './fold.ts'
import { writeDigits } from './numbers.ts'

const SCIENTIFIC = /^\+?(\d)(?:[.,](\d+))?e\+?(\d{1,2})$/i

/**
 * Reads a phone number from a cell. If a spreadsheet turned it into a number, all digits are still there. If it was
 * saved as the text `8.49E+10`, its last digits are lost.
 */
export function readPhone(cell: string | number): { value: string } | { message: string } {
  if (typeof cell === 'number')
    return Number.isInteger(cell)
      ? { value: writeDigits(cell) }
      : { message: 'This has to be a phone number.' }
  const text = withoutMarks(cell).trim()
  const [, first = '', decimals = '', exponent = ''] = SCIENTIFIC.exec(text) ?? []
  if (first === '') return { value: text }
  if (decimals.length >= Number(exponent))
    return { value: `${first}${decimals}`.slice(0, Number(exponent) + 1) }
  return {
    message:
      'A spreadsheet has turned this phone number into a number and dropped its last digits. Format the column as text, and enter it again.',
  }
}
