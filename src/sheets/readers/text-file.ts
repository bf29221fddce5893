import { createReadStream, type ReadStream } from 'node:fs'
import iconv from 'iconv-lite'
import { unsupported } from '../file-error.ts'
import { readHead } from './head.ts'

export type Encoding = 'utf8' | 'utf16le' | 'utf16be' | 'windows1252'

export const SAMPLE_BYTES = 64 * 1024

/**
 * Detects the encoding of a text: by its byte order mark, as UTF-16 by the positions of its zero bytes, however few, as
 * UTF-8 if all of it is valid, and otherwise as Windows-1252.
 */
export async function detectEncoding(path: string): Promise<Encoding> {
  const wide = detectUtf16(await readHead(path, SAMPLE_BYTES))
  return wide ?? ((await isUtf8File(path)) ? 'utf8' : 'windows1252')
}

/** Detects UTF-16 by the first bytes; null for another encoding. Throws if the bytes are no text. */
export function detectUtf16(sample: Buffer): 'utf16le' | 'utf16be' | null {
  if (sample[0] === 0xff && sample[1] === 0xfe) return 'utf16le'
  if (sample[0] === 0xfe && sample[1] === 0xff) return 'utf16be'
  const zeros = [0, 0]
  for (let at = 0; at < sample.length; at++)
    if (sample[at] === 0) (zeros[at % 2] as number) = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if (even + odd > 0) {
    const pairs = sample.length / 2
    if (odd > pairs * 0.3 && even < pairs * 0.05) return 'utf16le'
    if (even > pairs * 0.3 && odd < pairs * 0.05) return 'utf16be'
    const likely = odd > even ? 'utf16le' : 'utf16be'
    if (odd !== even && !isUtf8Text(sample.filter(byte => byte !== 0)) && isText(sample, likely))
      return likely
    throw unsupported('The file holds NUL bytes, so it is no text: save the table as .xlsx or .csv.')
  }
  return null
}

/**
 * Whether bytes without zeros are UTF-16: all characters are valid and none is NUL, and the text has a line end, as a
 * table has, or begins like records. A stray NUL in a UTF-8 text may look like that too; then the rest is UTF-8.
 */
function isText(sample: Buffer, encoding: 'utf16le' | 'utf16be'): boolean {
  try {
    const label = encoding === 'utf16le' ? 'utf-16le' : 'utf-16be'
    const text = new TextDecoder(label, { fatal: true }).decode(sample, { stream: true })
    return !text.includes('\0') && /^\s*[[{]|[\r\n]/.test(text)
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/**
 * Whether bytes are the beginning of a UTF-8 text. UTF-16 bytes of Chinese hardly ever are. Those of Russian have a
 * control character at every second byte, and those of Hindi a tab.
 */
function isUtf8Text(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    const blanks = text.match(/\r\n|[\t\n\r]/g)?.length ?? 0
    return !/[^\t\n\r\P{Cc}]/u.test(text) && blanks < bytes.length / 3
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

async function isUtf8File(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }))
      decoder.decode(chunk as Buffer, { stream: true })
    decoder.decode()
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** Reads a file as text without its byte order mark, piece by piece. */
export function openText(
  path: string,
  encoding: Encoding,
): { pieces: AsyncGenerator<string>; file: ReadStream } {
  const file = createReadStream(path, { highWaterMark: 64 * 1024 })
  // The byte order mark is left out.
  const decoder = iconv.getDecoder(encoding, { stripBOM: true })
  async function* read() {
    for await (const chunk of file) yield decoder.write(chunk as Buffer)
    yield decoder.end() ?? ''
  }
  return { pieces: read(), file }
}
