const MAX_CHARACTERS = 64
/** The parts of a pattern and how many digits each has. */
const PARTS = { YYYY: 4, MM: 2, DD: 2, HH: 2, mm: 2, ss: 2 } as const
type Part = keyof typeof PARTS
const PART = /YYYY|MM|DD|HH|mm|ss/g
const REQUIRED: readonly Part[] = ['YYYY', 'MM', 'DD', 'HH', 'mm']

/**
 * Compiles a pattern of a time in UTC, such as `DD.MM.YYYY HH:mm:ss`. What it converts is RFC 3339, or null, which is no
 * time. Throws an Error for what is no pattern.
 */
export function compilePattern(pattern: string): (value: unknown) => string | null {
  const parts: readonly string[] = pattern.match(PART) ?? []
  const isComplete = REQUIRED.every(part => parts.includes(part)) && new Set(parts).size === parts.length
  if (!isComplete || pattern.length > MAX_CHARACTERS || /[A-Za-z]{2}/.test(pattern.replace(PART, ''))) {
    throw new Error(
      'A time is rfc3339, s, ms, or a pattern with YYYY, MM, DD, HH, mm and ss, such as "DD.MM.YYYY HH:mm:ss".',
    )
  }
  const expression = pattern
    .split(/(YYYY|MM|DD|HH|mm|ss)/)
    .map(piece =>
      piece in PARTS ? `(?<${piece}>\\d{${PARTS[piece as Part]}})` : piece.replace(/[^\w\s]/g, '\\$&'),
    )
    .join('')
  const shape = new RegExp(`^${expression}$`)
  return value => {
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text !== 'string' || text.length > MAX_CHARACTERS) return null
    const found = shape.exec(text)?.groups
    if (!found) return null
    const { YYYY, MM, DD, HH, mm, ss = '00' } = found
    return `${YYYY}-${MM}-${DD}T${HH}:${mm}:${ss}Z`
  }
}
