const POINT = String.raw`[+-]?\d{1,3}(?:\.\d+)?(?:e-\d{1,3})?`
const COMMA = String.raw`[+-]?\d{1,3}(?:,\d+)?`
const PLACES = [
  // Degrees with a decimal comma need another sign between them: `52,5; 13,4`.
  new RegExp(String.raw`^(${COMMA})\s*[;|]\s*(${COMMA})(?:\s*\((.+)\)|\s*[;|]\s*(\S.*))?$`, 's'),
  new RegExp(String.raw`^(${POINT})\s*[,;]\s*(${POINT})(?:\s*\((.+)\)|\s*[,;]\s*(\S.*))?$`, 's'),
  new RegExp(String.raw`^(${COMMA}),?\s+(${COMMA})()()$`, 's'),
]

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
    const address = found[3] || found[4]?.trim()
    return { lat: lat as number, lng: lng as number, ...(address ? { address } : {}) }
  }
  return null
}
