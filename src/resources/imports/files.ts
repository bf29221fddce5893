import { type FileHandle, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isUuid, newId, type Queryable } from '../../../db/client.ts'
import { createFolder, syncFolder } from '../../../db/durable-files.ts'
import { listImportsWithFile } from '../../../db/queries/imports.ts'

/** The files of imports, in a folder under DATA_DIR, each under the identifier of its import. */
export interface ImportFiles {
  pathOf(importId: string): string
  /** Writes what arrives, whole or not at all. */
  receive(importId: string, arriving: AsyncIterable<Buffer>): Promise<void>
  sizeOf(importId: string): Promise<number>
  delete(importId: string): Promise<void>
  /** A new file without a name, which is gone with whoever has it open. */
  openUnnamed(): Promise<FileHandle>
  /** Deletes files that no import needs: of those that are over, of organizations that are gone, of processes that died. */
  sweep(db: Queryable): Promise<void>
}

/** Longer than an upload may take, and than an import takes from its file to its record. */
const LEFT_BEHIND_MS = 60 * 60_000

export function createImportFiles(dataDir: string): ImportFiles {
  const folder = join(dataDir, 'imports')
  const pathOf = (importId: string) => join(folder, importId)
  return {
    pathOf,
    /**
     * What is still arriving has another name: what has its name is synced and whole. It gets it before there is an import,
     * so that there is none without a file.
     */
    async receive(importId, arriving) {
      createFolder(folder, 0o700)
      const part = `${pathOf(importId)}.part`
      const file = await open(part, 'wx', 0o600)
      try {
        await writeFile(file, arriving)
        await file.sync()
        await file.close()
        await rename(part, pathOf(importId))
        syncFolder(folder)
      } catch (error) {
        await file.close().catch(() => {})
        await rm(part, { force: true })
        throw error
      }
    },
    sizeOf: async importId => (await stat(pathOf(importId))).size,
    async openUnnamed() {
      createFolder(folder, 0o700)
      const path = pathOf(`${newId()}.unnamed`)
      const file = await open(path, 'wx+', 0o600)
      await rm(path)
      return file
    },
    delete: importId => rm(pathOf(importId), { force: true }),
    async sweep(db) {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return []
        throw error
      })
      const ids = names.filter(isUuid)
      const known = ids.length > 0 ? await listImportsWithFile(db, ids) : new Set<string>()
      for (const name of names) {
        if (known.has(name)) continue
        const path = join(folder, name)
        const written = await stat(path).catch(() => null)
        if (written && Date.now() - written.mtimeMs > LEFT_BEHIND_MS) await rm(path, { force: true })
      }
    },
  }
}
