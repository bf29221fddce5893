import { type FileHandle, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isUuid, newId, type Queryable } from '../../../db/client.ts'
import { createFolder, syncFolder } from '../../../db/durable-files.ts'
import { listImportsWithFile } from '../../../db/queries/imports.ts'

/** The files of imports, in a directory under DATA_DIR, named by the identifiers of the imports. */
export interface ImportFiles {
  pathOf(importId: string): string
  /** Writes the arriving bytes, as a whole or not at all. */
  receive(importId: string, arriving: AsyncIterable<Buffer>): Promise<void>
  sizeOf(importId: string): Promise<number>
  delete(importId: string): Promise<void>
  /** Opens a new file without a name, which is gone when it is closed. */
  openUnnamed(): Promise<FileHandle>
  /** Deletes files that no import needs: of finished imports, deleted organizations and processes that died. */
  sweep(db: Queryable): Promise<void>
}

/** Longer than an upload may take, and than the time from the file of an import or export to its record. */
export const LEFT_BEHIND_MS = 60 * 60_000

export function createImportFiles(dataDir: string): ImportFiles {
  const folder = join(dataDir, 'imports')
  const pathOf = (importId: string) => join(folder, importId)
  return {
    pathOf,
    /**
     * An arriving file has another name; a file with its own name is synced and complete. It gets that name before the
     * import exists, so no import is without a file.
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
