/**
 * A number as people type it, in units that are `unit` of the interface's; a decimal comma is accepted. Null where nothing is
 * typed. A text that is no number stays one, so that the server names its field.
 */
export function readNumber(text: string, unit = 1): number | null {
  if (text.trim() === '') return null
  const value = Number(text.trim().replace(',', '.'))
  return Number.isNaN(value) ? (text as unknown as number) : Number((value * unit).toFixed(6))
}
