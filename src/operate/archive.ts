import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { z } from 'zod'
import { syncFile, syncFolder } from '../../db/durable-files.ts'

/**
 * The archive of an organization: lines of JSON, compressed by gzip. The first line says what it is. Objects begin a table
 * or a file, arrays are rows of the table, and texts are pieces of the file in base64. The last line counts them, so that a
 * torn archive is not taken for a whole one.
 */
export const FORMAT = 1

/** Shown in the operator's terminal, which would obey the control characters of a stranger. */
const line = z.string().transform(text => text.replace(/\p{C}/gu, ' ').slice(0, 200))

const header = z.object({
  fieldline: z.literal('backup'),
  format: z.number(),
  release: line,
  at: line,
  organization: z.object({ id: z.uuid(), name: line }),
  visibilityVersion: z.string().regex(/^\d+$/),
  /** The migrations of the database that it was read from. */
  migrations: z.array(line),
  /** The times of the oldest and the newest point, in milliseconds since 1970. */
  points: z.object({ from: z.number(), to: z.number() }).nullable(),
})
const section = z.union([
  z.object({ table: line, columns: z.array(line) }),
  // No other path: a file is written where its name says.
  z.object({
    file: z.string().regex(/^(imports|exports)\/[0-9a-f-]{36}(\.[a-z]{1,8})?$/),
    bytes: z.number(),
  }),
  z.object({ end: z.object({ rows: z.number(), files: z.number() }) }),
])

export type Header = z.infer<typeof header>
export type Section = z.infer<typeof section>
/** A part of an archive, in the order of its lines. */
export type Entry =
  | { kind: 'section'; section: Section }
  | { kind: 'row'; json: string }
  | { kind: 'piece'; bytes: Buffer }

export class ArchiveError extends Error {}

/** A row holds at most one record, whose values are bounded when they arrive. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const NEWLINE = 0x0a

/** Writes the lines as an archive that only its owner may read: whole, or not at all. */
export async function writeArchive(path: string, lines: AsyncIterable<string>): Promise<void> {
  const draft = `${path}.part`
  try {
    const file = createWriteStream(draft, { flags: 'wx', mode: 0o600 })
    await pipeline(Readable.from(lines, { objectMode: true }), createGzip(), file)
    syncFile(draft)
    await rename(draft, path)
    syncFolder(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(draft, { force: true })
    throw error
  }
}

/** Opens an archive. `entries` can be read once. */
export async function openArchive(path: string): Promise<{ header: Header; entries: AsyncGenerator<Entry> }> {
  const lines = splitLines(createReadStream(path).compose(createGunzip()) as AsyncIterable<Buffer>)
  const first = await next(lines)
  const read = header.safeParse(first === null ? null : parse(first))
  if (!read.success) throw new ArchiveError('It is no backup of an organization of Fieldline.')
  if (read.data.format !== FORMAT) {
    throw new ArchiveError(
      `It has the format ${read.data.format} and this release reads ${FORMAT}: restore it with ${read.data.release} or a newer release.`,
    )
  }
  return { header: read.data, entries: readEntries(lines) }
}

async function* readEntries(lines: AsyncGenerator<string>): AsyncGenerator<Entry> {
  const count = { rows: 0, files: 0 }
  for (let line = await next(lines); line !== null; line = await next(lines)) {
    if (line.startsWith('[')) {
      count.rows++
      yield { kind: 'row', json: line }
    } else if (line.startsWith('"')) {
      yield { kind: 'piece', bytes: Buffer.from(String(parse(line)), 'base64') }
    } else {
      const read = section.safeParse(parse(line))
      if (!read.success) throw new ArchiveError('A line of it is none of an archive.')
      if ('end' in read.data) {
        const { rows, files } = read.data.end
        if (rows !== count.rows || files !== count.files) break
        return
      }
      if ('file' in read.data) count.files++
      yield { kind: 'section', section: read.data }
    }
  }
  throw new ArchiveError('It is torn: its end is missing. Take another copy of it.')
}

/** The next line, or null after the last one, or where the compressed bytes are torn. */
async function next(lines: AsyncGenerator<string>): Promise<string | null> {
  try {
    const { value, done } = await lines.next()
    return done ? null : value
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'Z_BUF_ERROR' || code === 'Z_DATA_ERROR') return null
    throw error
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

async function* splitLines(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of source) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString()
      parts = []
      bytes = 0
      from = at + 1
    }
    parts.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > MAX_LINE_BYTES) throw new ArchiveError('A line of it is too long for an archive.')
  }
}
