import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, installed } from './cache.ts'
import { lastLines, run } from './commands.ts'
import { debianMirror, isDebianRoot, proxyEnvironment, requireExecutable } from './debian.ts'
import { Unavailable } from './services.ts'

const release = 'trixie'
const packages = ['postgresql-17', 'postgresql-17-postgis-3', 'postgresql-17-timescaledb']

export const binaries = '/usr/lib/postgresql/17/bin'
/** A database directory as initdb leaves it: copying it takes 0.15 s, creating it 0.5 s. */
export const template = '/var/lib/postgresql/template'

const instead =
  'run "docker compose up --detach postgres" and set TEST_DATABASE_URL, for example postgres://postgres@127.0.0.1:5432/postgres'

/**
 * A folder with Debian 13, PostgreSQL 17, PostGIS and TimescaleDB, to be entered with chroot(8): no older Debian
 * packages TimescaleDB. Takes a minute and 0.8 GB the first time.
 */
export async function postgresRoot(): Promise<string> {
  if (!isDebianRoot())
    throw new Unavailable(`PostgreSQL is installed by itself only for root on Debian: ${instead}`)
  // The number is that of this recipe: raise it when the recipe changes.
  return await installed(`postgresql-17-${release}-1`, install)
}

async function install(to: Installation): Promise<void> {
  await requireExecutable('debootstrap', ['debootstrap'], instead)
  const include = `--include=${packages.join(',')}`
  const env = await proxyEnvironment()
  const { log, inherit } = to
  try {
    await run('debootstrap', ['--variant=minbase', include, release, to.folder, await debianMirror()], {
      log,
      inherit,
      env,
    })
  } catch {
    throw new Unavailable(
      `debootstrap cannot fetch PostgreSQL (${lastLines(log, 2)}; all of it in ${log}): ${instead}`,
    )
  }
  // The downloaded packages, and the database cluster that Debian creates by itself.
  rmSync(join(to.folder, 'var/cache/apt/archives'), { recursive: true })
  rmSync(join(to.folder, 'var/lib/postgresql/17'), { recursive: true, force: true })
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  await run('chroot', [...asPostgres(to.folder), `${binaries}/initdb`, ...options, `--pgdata=${template}`], {
    log,
    inherit,
  })
}

/** The arguments of chroot(8) before a command: it runs as postgres, since PostgreSQL refuses to run as root. */
export function asPostgres(root: string): string[] {
  return ['--userspec=postgres:postgres', root]
}
