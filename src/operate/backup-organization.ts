import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { AT_ONE_MOMENT, findOwner, findSpan, type Owner, readRows } from '../../db/backup/read.ts'
import { listTables, type Run } from '../../db/backup/tables.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { FORMAT, type Header, type Section, writeArchive } from './archive.ts'

export class BackupError extends Error {}

export interface BackupCounts {
  name: string
  rows: number
  points: number
  files: number
}

interface Options {
  driver: Driver
  dataDir: string
  organizationId: string
  /** The file to write. */
  to: string
  /** The release that writes it. */
  release: string
}

/** A piece of a file: base64 takes groups of three bytes. */
const PIECE_BYTES = 48 * 1024

/** Writes an organization as it is at one moment, while everything goes on. */
export function backUp({ driver, dataDir, organizationId, to, release }: Options): Promise<BackupCounts> {
  return driver.setUp(async ({ run, exec }) => {
    await exec(AT_ONE_MOMENT)
    const owner = await findOwner(run, organizationId)
    if (!owner) throw new BackupError(`There is no organization ${organizationId} in this database.`)
    const counts: BackupCounts = { name: owner.name, rows: 0, points: 0, files: 0 }
    const files = await openImports(run, owner.organizationId, dataDir)
    try {
      const header = await describe(run, owner, release)
      await writeArchive(to, writeLines(run, { owner, dataDir, header, counts, open: files }))
    } finally {
      for (const file of files.values()) await file.close()
    }
    return counts
  })
}

async function describe(run: Run, owner: Owner & { name: string }, release: string): Promise<Header> {
  const ask = <Row>(text: string, values: unknown[] = []) => run({ text, values }) as Promise<Row[]>
  const migrations = await ask<{ name: string }>('SELECT name FROM schema_migrations ORDER BY name')
  const [row] = await ask<{ version: string; at: string }>(
    'SELECT visibility_version::text AS version, now()::text AS at FROM organizations WHERE id = $1',
    [owner.organizationId],
  )
  return {
    fieldline: 'backup',
    format: FORMAT,
    release,
    at: row?.at ?? '',
    organization: { id: owner.organizationId, name: owner.name },
    visibilityVersion: row?.version ?? '0',
    migrations: migrations.map(({ name }) => name),
    points: await findSpan(run, owner),
  }
}

interface Writing {
  owner: Owner
  dataDir: string
  header: Header
  counts: BackupCounts
  /** Files that are open since the moment of the backup. */
  open: ReadonlyMap<string, FileHandle>
}

async function* writeLines(
  run: Run,
  { owner, dataDir, header, counts, open: opened }: Writing,
): AsyncGenerator<string> {
  yield line(header)
  const { tables } = await listTables(run)
  for (const table of tables) {
    yield line({ table: table.name, columns: table.columns.map(({ name }) => name) } satisfies Section)
    for await (const rows of readRows(run, table, owner)) {
      counts.rows += rows.length
      if (table.name === 'points') counts.points += rows.length
      // A value may hold line breaks only where JSON escapes them, and PostgreSQL writes one row on one line.
      yield `${rows.join('\n')}\n`
    }
  }
  for (const file of await listFiles(run, owner.organizationId)) {
    const handle = opened.get(file) ?? (await openIfThere(join(dataDir, file)))
    if (!handle) continue
    counts.files++
    yield line({ file, bytes: (await handle.stat()).size } satisfies Section)
    // Its length is that of now: it is complete, and is never appended to.
    for await (const piece of handle.createReadStream({
      highWaterMark: PIECE_BYTES,
      autoClose: !opened.has(file),
    }))
      yield line((piece as Buffer).toString('base64'))
  }
  yield line({ end: { rows: counts.rows, files: counts.files } } satisfies Section)
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`

const openIfThere = (path: string) =>
  open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

/** Opens the files of imports under way: an import that ends during the backup deletes its file. */
async function openImports(
  run: Run,
  organizationId: string,
  dataDir: string,
): Promise<Map<string, FileHandle>> {
  const rows = (await run({
    text: `SELECT id FROM imports WHERE organization_id = $1 AND status IN ('queued', 'processing')`,
    values: [organizationId],
  })) as { id: string }[]
  const opened = new Map<string, FileHandle>()
  for (const { id } of rows) {
    const handle = await openIfThere(join(dataDir, 'imports', id))
    if (handle) opened.set(`imports/${id}`, handle)
    else {
      for (const other of opened.values()) await other.close()
      throw new BackupError(
        `The import ${id} has no file in DATA_DIR: it has just ended, or the file is lost. Make the backup again; if it stays so, cancel that import.`,
      )
    }
  }
  return opened
}

/** The files that uploads and exports of an organization may have, as paths below DATA_DIR. */
async function listFiles(run: Run, organizationId: string): Promise<string[]> {
  const rows = (await run({
    text: `SELECT 'imports/' || id AS file FROM imports WHERE organization_id = $1
      UNION ALL SELECT 'exports/' || id || '.' || format FROM export_logs WHERE organization_id = $1 ORDER BY 1`,
    values: [organizationId],
  })) as { file: string }[]
  return rows.map(({ file }) => file)
}
