import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isUuid, type Queryable } from '../../../db/client.ts'
import { createFolder, syncFolder } from '../../../db/durable-files.ts'
import type { ExportFormat } from '../../../db/queries/export-logs.ts'
import { listExportLogsById, listKeptFiles } from '../../../db/queries/export-logs.ts'
import { LEFT_BEHIND_MS } from '../imports/files.ts'

/**
 * The files of exports, in a directory under DATA_DIR that is shared by all processes that write or send them. A
 * complete file has the name of its export; before that it is a draft.
 */
export interface ExportFiles {
  /** The path of a draft, a new one for each attempt. */
  draft(name: string): Promise<string>
  /** The path of a complete file. */
  path(id: string, format: ExportFormat): string
  /** Turns a draft into the file of an export. */
  keep(draft: string, id: string, format: ExportFormat): Promise<void>
  /** Removes the files of exports that keep none, those of nobody, and the drafts of processes that died. */
  sweep(db: Queryable): Promise<void>
}

/** No export runs longer than this, so an older draft is abandoned. */
const DRAFT_MS = 24 * 3600_000
const AT_ONCE = 1_000

const idOf = (name: string) => name.split('.')[0] as string

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
      const now = Date.now()
      const names = await readdir(folder).catch(() => [])
      const files = names.filter(name => isUuid(idOf(name)))
      for (let from = 0; from < files.length; from += AT_ONCE) {
        const some = files.slice(from, from + AT_ONCE)
        // A restoration writes a file before others see its record, which may be between these two.
        const known = new Set((await listExportLogsById(db, some.map(idOf))).map(({ _id }) => _id))
        const kept = await listKeptFiles(db, some.map(idOf))
        for (const name of some.filter(name => !kept.has(idOf(name)))) {
          const file = join(folder, name)
          const written = known.has(idOf(name)) ? null : await stat(file).catch(() => null)
          if (written && now - written.mtimeMs <= LEFT_BEHIND_MS) continue
          await rm(file, { force: true })
        }
      }
      for (const name of await readdir(drafts).catch(() => [])) {
        if (Number(name.split('.')[0]) < now - DRAFT_MS) await rm(join(drafts, name), { force: true })
      }
    },
  }
}
