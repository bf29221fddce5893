const POINT = String.raw`[+-]?\d{1,3}(?:\.\d+)?(?:e-\d{1,3})?`
const COMMA = String.raw`[+-]?\d{1,3}(?:,\d+)?`
const ADDRESS = String.raw`(?:\s*\((.+)\)|\s*[,;|]\s*(\S.*))?`
/** Of `52,5` nobody knows whether it is two whole degrees or one with a decimal comma. */
const UNCLEAR = String.raw`[+-]?\d+,\d+(?![\d.e])`
const PLACES = [
  // Degrees with a decimal comma need another sign between them, or a blank after it: `52,5; 13,4`, `52,5, 13,4`.
  new RegExp(String.raw`^(${COMMA})(?:\s*[;|]\s*|,\s+)(${COMMA})${ADDRESS}$`, 's'),
  new RegExp(String.raw`^(?!${UNCLEAR})(${POINT})\s*[,;|]\s*(${POINT})${ADDRESS}$`, 's'),
  new RegExp(String.raw`^(${COMMA})\s+(${COMMA})()()$`),
  new RegExp(String.raw`^(${POINT})\s+(${POINT})()()$`),
]
/** What is left over of numbers that were cut apart in another way. */
const NUMBERS = /^[+-]?\d[\d\s.,;|+-]*$/

/** A place as `lat, lng`, perhaps with an address after that or in brackets, or as JSON; null where it is none. */
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
