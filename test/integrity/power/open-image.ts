import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { amcheck } from '@electric-sql/pglite/contrib/amcheck'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'

/** The content of a directory after its database has recovered. */
export interface Found {
  /** The length of the record at the cut. */
  bytes: number
  /** For each device, the number of the point at each time. */
  points: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** Rows of points that repeat another row. */
  doubled: number
  users: ReadonlySet<string>
  sessions: ReadonlySet<string>
  hubs: ReadonlyMap<string, string>
  /** Identifiers of imports whose jobs have not ended. */
  jobs: ReadonlySet<string>
  imports: ReadonlyMap<string, string>
  records: ReadonlySet<string>
  exports: ReadonlySet<string>
  file(path: string): Buffer | null
}

/**
 * Recovers a directory with PGlite alone, which is fast: without PostGIS, and on a disk in memory if there is one.
 * Checks the checksum of every page that it reads, and compares every index with its table. Returns null if the
 * database was not set up yet.
 */
export async function openImage(directory: string, bytes: number): Promise<Found | null> {
  // A first start that was interrupted begins again.
  if (!existsSync(join(directory, 'postgres'))) return null
  // db/drivers/pglite-files.ts does the same.
  rmSync(join(directory, 'postgres/postmaster.pid'), { force: true })
  const db = await PGlite.create({ dataDir: join(directory, 'postgres'), extensions: { amcheck, pg_trgm } })
  try {
    await db.exec('CREATE EXTENSION amcheck')
    await db.query(
      `SELECT bt_index_check(c.oid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relkind = 'i' AND i.indisvalid`,
    )
    const { rows: migrated } = await db.query<{ is: boolean }>(
      `SELECT to_regclass('export_logs') IS NOT NULL AS is`,
    )
    return migrated[0]?.is ? await readFound(db, directory, bytes) : null
  } finally {
    await db.close()
  }
}

async function readFound(db: PGlite, directory: string, bytes: number): Promise<Found> {
  const read = async <Row>(text: string) => (await db.query<Row>(text)).rows
  const points = new Map<string, Map<number, number>>()
  let rows = 0
  for (const { id, at, n } of await read<{ id: string; at: number; n: number }>(
    `SELECT s.id, (extract(epoch FROM recorded_at) * 1000)::float8 AS at, (attributes->>'n')::int4 AS n
       FROM points JOIN subjects s ON s.key = subject_key`,
  )) {
    const ofDevice = points.get(id) ?? new Map()
    points.set(id, ofDevice.set(at, n))
    rows++
  }
  const ids = async (text: string) => new Set((await read<{ id: string }>(text)).map(({ id }) => id))
  const pairs = async (text: string) =>
    new Map((await read<{ id: string; value: string }>(text)).map(({ id, value }) => [id, value]))
  return {
    bytes,
    points,
    doubled: rows - [...points.values()].reduce((sum, ofDevice) => sum + ofDevice.size, 0),
    users: await ids('SELECT id FROM users'),
    sessions: await ids('SELECT id FROM sessions'),
    hubs: await pairs('SELECT id, name AS value FROM hubs'),
    jobs: await ids(`SELECT unique_key AS id FROM jobs WHERE status IN ('queued', 'running')`),
    imports: await pairs('SELECT id, status AS value FROM imports'),
    records: await ids(`SELECT data->>'n' AS id FROM data_records`),
    exports: await ids('SELECT id FROM export_logs'),
    file: path => (existsSync(join(directory, path)) ? readFileSync(join(directory, path)) : null),
  }
}
