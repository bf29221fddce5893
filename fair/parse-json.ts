/**
 * `JSON.parse` in steps, for the texts of strangers: keys that differ from object to object make it take 0.7 s for 1.7 MB, where
 * the same keys take 0.015 s. A list or object larger than a piece is divided, and each piece is parsed alone.
 */
const PIECE_BYTES = 16 * 1024
/** Looking for brackets alone takes a millisecond for this many bytes. */
const LOOK_BYTES = 256 * 1024

const [QUOTE, BACKSLASH, COMMA] = Buffer.from('"\\,') as unknown as [number, number, number]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('[]{}') as unknown as [
  ...[number, number, number, number],
]
const BLANK = /^[ \t\n\r]*$/

/** A list or object that is larger than a piece, from its opening to its closing bracket. */
interface Large {
  start: number
  end: number
  value: unknown[] | { [key: string]: unknown }
}

/**
 * Parses a text of JSON in valid UTF-8, without a byte order mark. Returns what `JSON.parse` returns.
 *
 * @throws {SyntaxError} where `JSON.parse` would.
 */
export function* parseJson(text: Buffer, pieceBytes = PIECE_BYTES): Generator<void, unknown> {
  if (text.length <= pieceBytes) return JSON.parse(text.toString())
  const larges = yield* findLarge(text, pieceBytes)
  const outermost = larges.at(-1)
  if (!outermost) return JSON.parse(text.toString())
  checkBlank(text, 0, outermost.start)
  checkBlank(text, outermost.end + 1, text.length)
  const byStart = new Map(larges.map(large => [large.start, large]))
  for (const large of larges) yield* fill(text, large, byStart, pieceBytes)
  return outermost.value
}

/** Lists the large containers, inner ones before those around them. */
function* findLarge(text: Buffer, pieceBytes: number): Generator<void, Large[]> {
  const found: Large[] = []
  const open: number[] = []
  let lookedTo = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (byte === QUOTE) at = endOfText(text, at)
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) open.push(at)
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      const start = open.pop()
      if (start === undefined) throw new SyntaxError('A bracket is closed that was never opened.')
      if (at - start > pieceBytes) {
        const isList = text[start] === OPEN_LIST
        if (isList !== (byte === CLOSE_LIST)) throw new SyntaxError('A bracket is closed by another kind.')
        found.push({ start, end: at, value: isList ? [] : {} })
      }
    }
    if (at - lookedTo > LOOK_BYTES) {
      lookedTo = at
      yield
    }
  }
  if (open.length > 0) throw new SyntaxError('A bracket is never closed.')
  return found
}

/** Puts the members into a large container; those that are large themselves are filled already. */
function* fill(
  text: Buffer,
  { start, end, value }: Large,
  byStart: ReadonlyMap<number, Large>,
  pieceBytes: number,
): Generator<void, void> {
  let piece = start + 1
  let member = piece
  let inner: Large | undefined
  let depth = 0
  for (let at = piece; at <= end; at++) {
    const byte = text[at]
    if (byte === QUOTE) at = endOfText(text, at)
    else if (at < end && (byte === CLOSE_LIST || byte === CLOSE_OBJECT)) depth--
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      inner = byStart.get(at)
      if (inner) at = inner.end
      else depth++
    } else if (depth === 0 && (byte === COMMA || at === end)) {
      if (inner) {
        if (member > piece) addPiece(value, text.toString('utf8', piece, member - 1))
        addLarge(value, text.toString('utf8', member, inner.start), inner.value)
        checkBlank(text, inner.end + 1, at)
      } else if (at === end && piece === start + 1) addPiece(value, text.toString('utf8', piece, at), true)
      else if (at === end || at - piece > pieceBytes) addPiece(value, text.toString('utf8', piece, at))
      if (inner || at - piece > pieceBytes) {
        piece = at + 1
        yield
      }
      member = at + 1
      inner = undefined
    }
  }
}

/** Adds whole members, with commas between them. */
function addPiece(value: Large['value'], members: string, mayBeBlank = false): void {
  if (!mayBeBlank && BLANK.test(members)) throw new SyntaxError('A value is missing beside a comma.')
  if (Array.isArray(value)) for (const one of JSON.parse(`[${members}]`)) value.push(one)
  else for (const [key, one] of Object.entries(JSON.parse(`{${members}}`))) set(value, key, one)
}

/** Adds a large member; `before` is what stands in front of it: in an object, its key and a colon. */
function addLarge(value: Large['value'], before: string, large: unknown): void {
  if (!Array.isArray(value)) set(value, Object.keys(JSON.parse(`{${before}[]}`))[0] as string, large)
  else if (BLANK.test(before)) value.push(large)
  else throw new SyntaxError('A comma is missing.')
}

/** A key may be `__proto__`, which an assignment would take for something else. */
function set(value: { [key: string]: unknown }, key: string, one: unknown): void {
  if (key !== '__proto__') value[key] = one
  else Object.defineProperty(value, key, { value: one, writable: true, enumerable: true, configurable: true })
}

function checkBlank(text: Buffer, from: number, to: number): void {
  if (!BLANK.test(text.toString('utf8', from, to))) throw new SyntaxError('A comma is missing.')
}

function endOfText(text: Buffer, quote: number): number {
  let at = quote + 1
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
  return at
}
