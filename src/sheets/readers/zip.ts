import type { Readable } from 'node:stream'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { FileError, tooLarge, unimportable, unsupported } from '../file-error.ts'
import { MAX_PARTS, MAX_UNPACKED_BYTES } from '../limits.ts'

/** The parts of a workbook, found by the directory at the end of the file, in whatever order the file has them. */
export interface Parts {
  has(name: string): boolean
  names(): string[]
  /** The unpacked bytes of a part. Their number must equal the declared one, and all parts together have a limit. */
  read(name: string): Promise<Readable>
  /** The unpacked size of a part. */
  size(name: string): number
  close(): void
}

/** Bit 0 of the flags: the part is encrypted. [APPNOTE.TXT 4.4.4] */
const ENCRYPTED = 1
const STORED = 0
const DEFLATED = 8

export async function openParts(path: string): Promise<Parts> {
  const zip = await open(path)
  const entries = new Map<string, Entry>()
  try {
    await listEntries(zip, entries)
  } catch (error) {
    zip.close()
    throw explain(error)
  }
  const findEntry = (name: string) => entries.get(name.toLowerCase())
  return {
    has: name => findEntry(name) !== undefined,
    names: () => [...entries.keys()],
    size: name => findEntry(name)?.uncompressedSize ?? 0,
    async read(name) {
      const entry = findEntry(name)
      if (!entry) throw unimportable(`The workbook has no part ${name}: it is not whole.`)
      const stream = await new Promise<Readable>((resolve, reject) =>
        zip.openReadStream(entry, (error, opened) => (opened ? resolve(opened) : reject(explain(error)))),
      )
      return stream
    },
    close: () => zip.close(),
  }
}

const unpacksTooFar = () =>
  tooLarge(`Unpacked, the workbook is larger than ${MAX_UNPACKED_BYTES / 1024 ** 3} GiB.`)

function open(path: string): Promise<ZipFile> {
  return new Promise((resolve, reject) =>
    yauzl.open(path, { lazyEntries: true, autoClose: false, validateEntrySizes: true }, (error, zip) =>
      zip ? resolve(zip) : reject(explain(error)),
    ),
  )
}

function listEntries(zip: ZipFile, entries: Map<string, Entry>): Promise<void> {
  return new Promise((resolve, reject) => {
    let declaredBytes = 0
    zip.on('error', reject)
    zip.on('end', resolve)
    zip.on('entry', (entry: Entry) => {
      const name = entry.fileName.toLowerCase()
      declaredBytes += entry.uncompressedSize
      if (entries.has(name))
        return reject(unimportable(`The workbook has two parts named ${name.slice(0, 100)}.`))
      if (entries.size >= MAX_PARTS) return reject(tooLarge(`The workbook has more than ${MAX_PARTS} parts.`))
      if (declaredBytes > MAX_UNPACKED_BYTES) return reject(unpacksTooFar())
      if (entry.generalPurposeBitFlag & ENCRYPTED) {
        return reject(unsupported('The workbook is encrypted: save it without a password.'))
      }
      if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
        return reject(
          unsupported('The workbook is packed in a way that is not read here: save it anew as .xlsx.'),
        )
      }
      entries.set(name, entry)
      zip.readEntry()
    })
    zip.readEntry()
  })
}

/** Replaces a library's error by a sentence about the file. */
export function explain(error: unknown): unknown {
  if (error instanceof FileError || !(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  // An error of the disk, not of the file.
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return error
  return unimportable('The workbook is damaged, or it did not arrive whole: save it anew and send it again.')
}
