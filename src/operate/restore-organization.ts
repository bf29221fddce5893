import { createWriteStream, type WriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { type BackedTable, listTables, type Run } from '../../db/backup/tables.ts'
import { finishRestoration, MAPS, type Writing, writeRows } from '../../db/backup/write.ts'
import type { Database } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { createFolder, syncFile, syncFolder } from '../../db/durable-files.ts'
import { readMigrations } from '../../db/migrate.ts'
import { createPartitionsFor } from '../../db/partitions.ts'
import { ArchiveError, type Entry, type Header, openArchive } from './archive.ts'

export interface Restored {
  header: Header
  rows: number
  files: number
  /** The addresses of members who had an account here before, and keep its password. */
  known: string[]
}

interface Options {
  db: Database & { driver: Driver }
  dataDir: string
  from: string
  /** The accounts are those of this server from the beginning: their times and roots stay, and the oldest runs it. */
  keepsAccounts?: boolean
}

/** A batch of rows is one statement. */
const MAX_ROWS = 5_000
const MAX_CHARACTERS = 2 * 1024 * 1024
const DAY_MS = 24 * 3600_000
const WEEK_MS = 7 * DAY_MS
/** The longest retention, and clocks that were ahead. */
const MAX_SPAN_MS = 3_700 * DAY_MS

/** Stores an archive as a whole or not at all. An organization that is there already is refused. */
export async function restore({ db, dataDir, from, keepsAccounts = false }: Options): Promise<Restored> {
  const { header, entries } = await openArchive(from)
  checkRelease(header)
  if (header.points) await createPartitionsFor(db, weeksOf(header.points))
  return db.driver.setUp(async ({ run, exec }) => {
    await checkAbsence(run, header)
    await exec(MAPS)
    const { tables } = await listTables(run)
    const counts = await store(
      { run, tables, dataDir, header, keepsAccounts, organizationId: header.organization.id },
      entries,
    )
    const { known } = await finishRestoration(run, {
      organizationId: header.organization.id,
      visibilityVersion: header.visibilityVersion,
    })
    return { header, known, ...counts }
  })
}

function weeksOf({ from, to }: { from: number; to: number }): number[] {
  // Without TimescaleDB each week becomes a table.
  if (to - from > MAX_SPAN_MS) throw new ArchiveError('Its points are of more years than a server keeps.')
  const times = [to]
  for (let at = from; at < to; at += WEEK_MS) times.push(at)
  return times
}

function checkRelease({ migrations, release }: Header): void {
  const known = new Set(readMigrations().map(({ name }) => name))
  const newer = migrations.filter(name => !known.has(name))
  if (newer.length === 0) return
  throw new ArchiveError(
    `It was written by a newer release (${release}, ${newer.join(', ')}): restore it with that one or a newer one.`,
  )
}

async function checkAbsence(run: Run, { organization: { id, name } }: Header): Promise<void> {
  const [found] = (await run({
    text: 'SELECT deleted_at IS NOT NULL AS deleted FROM organizations WHERE id = $1',
    values: [id],
  })) as { deleted: boolean }[]
  if (!found) return
  throw new ArchiveError(
    found.deleted
      ? `The organization ${name} (${id}) is being deleted here: wait until it is gone, then restore it.`
      : `The organization ${name} (${id}) is in this database: delete it first, or restore into another database.`,
  )
}

interface Storing extends Writing {
  tables: readonly BackedTable[]
  dataDir: string
  header: Header
}

async function store(
  storing: Storing,
  entries: AsyncIterable<Entry>,
): Promise<{ rows: number; files: number }> {
  const counts = { rows: 0, files: 0 }
  let table: BackedTable | undefined
  let rows: string[] = []
  let characters = 0
  let file: Awaited<ReturnType<typeof openFile>> | undefined
  const flush = async () => {
    if (table && rows.length > 0) await writeRows(storing, table, `[${rows.join(',')}]`)
    rows = []
    characters = 0
  }
  for await (const entry of entries) {
    if (entry.kind === 'row') {
      if (!table) throw new ArchiveError('A row of it belongs to no table.')
      counts.rows++
      characters += entry.json.length
      if (rows.push(entry.json) >= MAX_ROWS || characters > MAX_CHARACTERS) await flush()
    } else if (entry.kind === 'piece') {
      if (!file) throw new ArchiveError('A piece of it belongs to no file.')
      await file.write(entry.bytes)
    } else {
      await flush()
      await file?.close()
      file = undefined
      const { section } = entry
      table = 'table' in section ? findTable(storing, section) : undefined
      if ('file' in section) {
        counts.files++
        await checkIsNobodys(storing, section.file)
        file = await openFile(join(storing.dataDir, section.file))
      }
    }
  }
  await flush()
  await file?.close()
  return counts
}

/** The table with the columns of the archive, which are fewer than here if it is older. */
function findTable({ tables, header }: Storing, section: { table: string; columns: string[] }): BackedTable {
  const table = tables.find(({ name }) => name === section.table)
  const columns = section.columns.map(name => table?.columns.find(column => column.name === name))
  const unknown = section.columns.filter((_, index) => !columns[index])
  if (!table || unknown.length > 0) {
    throw new ArchiveError(
      `It has ${table ? `the columns ${unknown.join(', ')} of ${section.table}` : `the table ${section.table}`}, which this release ` +
        `does not have any more: restore it with ${header.release}, and upgrade that database.`,
    )
  }
  return { ...table, columns: columns as BackedTable['columns'] }
}

/** Files are named by their import or export alone, so an archive could name one of another organization. */
async function checkIsNobodys({ run, organizationId }: Storing, file: string): Promise<void> {
  const [taken] = await run({
    text: `SELECT id FROM (SELECT id, organization_id FROM imports UNION ALL SELECT id, organization_id FROM export_logs) owned
      WHERE id::text = $1 AND organization_id <> $2`,
    values: [file.replace(/^\w+\/|\..*$/g, ''), organizationId],
  })
  if (taken) throw new ArchiveError(`The file ${file} belongs to another organization here.`)
}

/** Written beside its name first. If the restoration fails, upkeep deletes it, as it does with files of nobody. */
async function openFile(
  path: string,
): Promise<{ write(bytes: Buffer): Promise<void>; close(): Promise<void> }> {
  createFolder(dirname(path), 0o700)
  const draft = `${path}.part`
  const stream: WriteStream = createWriteStream(draft, { mode: 0o600 })
  return {
    write: bytes =>
      new Promise((resolve, reject) => stream.write(bytes, error => (error ? reject(error) : resolve()))),
    async close() {
      stream.end()
      await finished(stream)
      syncFile(draft)
      await rename(draft, path)
      syncFolder(dirname(path))
    },
  }
}
