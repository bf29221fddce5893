import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TileAddress } from './tiles.ts'

/** A file of one byte takes a block. */
const BLOCK_BYTES = 4_096
/** A tile that there is not is kept as well; an empty file is what a power cut leaves. */
const NONE = Buffer.from('none')
/** Beyond `FULL` of the bound the files that were used longest ago are deleted, down to `EMPTIED`. */
const FULL = 0.9
const EMPTIED = 0.8
/** A file that is used more often is noted once in this time. */
const USE_NOTED_EVERY_MS = 3_600_000

export interface Kept {
  /** Null where the other server said that there is no such tile. */
  bytes: Buffer | null
  ageMs: number
}

/** Files under one folder, which hold at most `maxBytes` together. Several processes may share the folder. */
export function createKeptTiles(root: string, folder: string, maxBytes: number) {
  const pathOf = ({ z, x, y }: TileAddress) => join(root, folder, `${z}`, `${x}-${y}`)
  const notePath = join(root, folder, 'about.json')
  /** The bytes that may be written before the folder is looked through again. */
  let room = 0
  let making: Promise<void> = Promise.resolve()

  async function read(tile: TileAddress): Promise<Kept | null> {
    const path = pathOf(tile)
    try {
      const file = await open(path, 'r')
      try {
        const { mtime, atimeMs } = await file.stat()
        const bytes = await file.readFile()
        if (bytes.length === 0) return null
        const now = Date.now()
        if (now - atimeMs > USE_NOTED_EVERY_MS) await utimes(path, now / 1_000, mtime).catch(() => {})
        return { bytes: bytes.equals(NONE) ? null : bytes, ageMs: now - mtime.getTime() }
      } finally {
        await file.close()
      }
    } catch {
      return null
    }
  }

  /** Throws where the disk is full. */
  async function write(tile: TileAddress, bytes: Buffer | null): Promise<void> {
    await writeFile(pathOf(tile), bytes ?? NONE)
  }

  async function writeFile(path: string, bytes: Buffer): Promise<void> {
    const size = sizeOnDisk(bytes.length)
    if (size > maxBytes * (1 - FULL)) return
    making = making.catch(() => {}).then(() => makeRoom(size))
    await making
    await mkdir(dirname(path), { recursive: true })
    const draft = `${path}.${randomUUID()}`
    try {
      const file = await open(draft, 'wx', 0o600)
      try {
        await file.writeFile(bytes)
        await file.datasync()
      } finally {
        await file.close()
      }
      await rename(draft, path)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  async function makeRoom(size: number): Promise<void> {
    if (room < size) {
      const files = (await listFiles(root)).sort((one, other) => one.usedAt - other.usedAt)
      let total = files.reduce((sum, file) => sum + file.size, 0)
      if (total + size > maxBytes * FULL) {
        for (const file of files) {
          if (total <= maxBytes * EMPTIED) break
          // It is read at the start alone, and without it no kept tile is shown while the other server is away.
          if (file.path === notePath) continue
          await rm(file.path, { force: true })
          total -= file.size
        }
      }
      // Another process may write as much before it looks.
      room = (maxBytes - total) / 2
    }
    room -= size
  }

  return {
    read,
    write,
    /** The tiles of a level that are kept, those that were used last first. */
    async list(z: number): Promise<TileAddress[]> {
      const files = await listFiles(join(root, folder, `${z}`))
      return files
        .sort((one, other) => other.usedAt - one.usedAt)
        .flatMap(({ path }) => {
          const [, x, y] = /(\d+)-(\d+)$/.exec(path) ?? []
          return x === undefined ? [] : [{ z, x: Number(x), y: Number(y) }]
        })
    },
    /** The text that was kept beside the tiles, and since when it is another one. */
    async readNote(): Promise<{ text: string; since: number } | null> {
      try {
        return { text: await readFile(notePath, 'utf8'), since: (await stat(notePath)).mtime.getTime() }
      } catch {
        return null
      }
    },
    writeNote: (text: string) => writeFile(notePath, Buffer.from(text)),
  }
}

export type KeptTiles = ReturnType<typeof createKeptTiles>

const sizeOnDisk = (bytes: number) => Math.max(1, Math.ceil(bytes / BLOCK_BYTES)) * BLOCK_BYTES

async function listFiles(folder: string): Promise<{ path: string; size: number; usedAt: number }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = []
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const found = await stat(path).catch(() => null)
    if (found)
      files.push({ path, size: sizeOnDisk(found.size), usedAt: Math.max(found.atimeMs, found.mtimeMs) })
  }
  return files
}
