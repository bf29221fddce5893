import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, run } from './commands.ts'
import { claimFolder } from './folders.ts'
import { asPostgres, binaries, postgresRoot, template } from './postgres-root.ts'
import { processesIn } from './processes.ts'
import { startServer } from './server.ts'
import { available, type Control, type Service } from './services.ts'

export interface Postgres {
  /** Superuser, database `postgres`. */
  url: string
  /** Null for a server that the environment names, which no test may kill. */
  control: Control | null
}

export interface PostgresOptions {
  /** Preloads TimescaleDB (the default). Without it this is plain PostgreSQL with PostGIS. */
  timescaledb?: boolean
  /** Used if it is free. */
  port?: number
  /** Server settings that override the defaults below, such as `{ fsync: 'on' }`. */
  settings?: Record<string, string>
  /** Starts as a standby of the server with this address: copies and follows it. */
  standbyOf?: string
  /** Called with the folder of its data while it is still empty. */
  onFolder?: (folder: string) => void
  /** Files beside the data, which PostgreSQL may read and nobody else, by their names. */
  files?: Record<string, string>
  /** Starts a server even if TEST_DATABASE_URL names one: a crash test must not touch another one's. */
  own?: boolean
}

/** PostgreSQL 17 with PostGIS and TimescaleDB on an empty data folder: the one of TEST_DATABASE_URL, or a new one. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Service<Postgres>> {
  const url = process.env.TEST_DATABASE_URL
  if (url && !options.own) return { available: true, url, control: null, stop: async () => {} }
  return await available(() => startOwn(options))
}

async function startOwn(options: PostgresOptions): Promise<Postgres & { stop(): Promise<void> }> {
  const root = await postgresRoot()
  const claim = await claimFolder(join(root, 'srv'), 'postgres')
  const data = join(claim.folder, 'data')
  const inside = data.slice(root.length)
  if (options.standbyOf) await copyServer(root, inside, options.standbyOf)
  else {
    mkdirSync(data)
    options.onFolder?.(data)
    await run('cp', ['--archive', '--reflink=auto', `${join(root, template)}/.`, data])
    const { uid, gid } = statSync(data)
    for (const [name, content] of Object.entries(options.files ?? {})) {
      writeFileSync(join(data, name), content, { mode: 0o600 })
      chownSync(join(data, name), uid, gid)
    }
  }
  const port = await freePort(options.port)
  const settings = {
    ...defaults(port, inside),
    ...(options.timescaledb === false ? {} : timescaledb),
    ...options.settings,
  }
  const assignments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const { stop, ...control } = await startServer({
    claim,
    command: ['chroot', ...asPostgres(root), `${binaries}/postgres`, '-D', inside, ...assignments],
    // The fast shutdown of PostgreSQL: it ends sessions and writes a checkpoint.
    stopSignal: 'INT',
    isReady: () => isReady(data),
  })
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, control, stop }
}

async function copyServer(root: string, folder: string, url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  await run('chroot', [root, 'install', '--directory', '--owner=postgres', '--mode=700', folder])
  const from = [`--host=${hostname}`, `--port=${port}`, '--username=postgres', '--checkpoint=fast']
  const to = [`--pgdata=${folder}`, '--write-recovery-conf', '--no-sync']
  await run('chroot', [...asPostgres(root), `${binaries}/pg_basebackup`, ...from, ...to])
}

function defaults(port: number, socketFolder: string): Record<string, string> {
  return {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: socketFolder,
    // Needs no /dev/shm, so nothing must be mounted into the chroot.
    dynamic_shared_memory_type: 'mmap',
    max_connections: '200',
    // The tests kill servers, not machines: the page cache survives that.
    fsync: 'off',
    synchronous_commit: 'on',
    timezone: 'UTC',
  }
}

const timescaledb = {
  shared_preload_libraries: 'timescaledb',
  // Its scheduler connects to every database, which then cannot serve as a template, and runs out of workers.
  'timescaledb.max_background_workers': '0',
  'timescaledb.telemetry_level': 'off',
}

/**
 * The test of pg_ctl: the status line of postmaster.pid, if the process that wrote it lives (a crash leaves the file).
 */
function isReady(data: string): boolean {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    return /^(ready|standby)$/.test(lines[7]?.trim() ?? '') && processesIn(data).includes(Number(lines[0]))
  } catch {
    return false
  }
}
