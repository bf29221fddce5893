import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isUuid, type Queryable } from '../../../db/client.ts'
import { createFolder, syncFolder } from '../../../db/durable-files.ts'
import type { ExportFormat } from '../../../db/queries/export-logs.ts'
import { listKeptFiles } from '../../../db/queries/export-logs.ts'

/**
 * Where the files of exports lie: under DATA_DIR, which every process shares that makes or shows them. A file is named
 * after its export once it is whole, and is a draft before.
 */
export interface ExportFiles {
  /** Where a file is written before it is whole: one place for each attempt. */
  draft(name: string): Promise<string>
  /** Where the whole file of an export is. */
  path(id: string, format: ExportFormat): string
  /** Makes a draft the file of an export. */
  keep(draft: string, id: string, format: ExportFormat): Promise<void>
  /** Removes files of exports that are gone or keep none, and what processes left behind that died. */
  sweep(db: Queryable): Promise<void>
}

/** No export works for longer; its draft is nobody's by then. */
const DRAFT_MS = 24 * 3600_000
const AT_ONCE = 1_000

export function createExportFiles(dataDir: string): ExportFiles {
  const folder = join(dataDir, 'exports')
  const drafts = join(folder, 'drafts')
  const path: ExportFiles['path'] = (id, format) => join(folder, `${id}.${format}`)
  return {
    path,
    async draft(name) {
      createFolder(drafts, 0o700)
      const draft = join(drafts, `${Date.now()}.${name}`)
      await rm(draft, { force: true })
      return draft
    },
    async keep(draft, id, format) {
      await rename(draft, path(id, format))
      syncFolder(folder)
    },
    async sweep(db) {
      const names = await readdir(folder).catch(() => [])
      const files = names.filter(name => isUuid(name.split('.')[0]))
      for (let from = 0; from < files.length; from += AT_ONCE) {
        const some = files.slice(from, from + AT_ONCE)
        const kept = await listKeptFiles(
          db,
          some.map(name => name.split('.')[0] as string),
        )
        for (const name of some) {
          if (!kept.has(name.split('.')[0] as string)) await rm(join(folder, name), { force: true })
        }
      }
      for (const name of await readdir(drafts).catch(() => [])) {
        if (Number(name.split('.')[0]) < Date.now() - DRAFT_MS) await rm(join(drafts, name), { force: true })
      }
    },
  }
}
