import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Queryable } from './client.ts'
import type { Driver, SetUpSession } from './drivers/driver.ts'
import { isLockTimeout, isTransient } from './errors.ts'
import { prepareExtensions } from './extensions.ts'
import { foldStoredAddresses } from './fold-stored-addresses.ts'
import { MIGRATIONS } from './folders.ts'
import { tryLockUntilCommit } from './locks.ts'
import { retry } from './retry.ts'
import { prepareTenantRole } from './tenant-role.ts'

/**
 * Brings the schema up to date while other processes work, also those of the release before (docs/upgrade.md).
 *
 * An empty database gets every SQL file of the folder in one transaction. Later each file has one of its own, so that
 * its locks are held no longer than its own statements take. A lock that is not granted at once is given up and asked
 * for again: whoever comes after a statement that waits for a lock waits too, so one long reader would stop everything.
 */

/** The parts of migrations that SQL cannot compute: each runs after its file, in the same transaction. */
const COMPUTED: { [file: string]: (run: SetUpSession['run']) => Promise<void> } = {
  '0087_folded_addresses.sql': foldStoredAddresses,
}

/** The time for which everybody else may have to wait behind a statement that waits for a lock. */
const LOCK_TIMEOUT_MS = 300
/** PostgreSQL ends an autovacuum for whoever has waited for deadlock_timeout (1 s): every tenth attempt waits so long. */
const PATIENT_TIMEOUT_MS = 1_200
const PATIENT_EVERY = 10
/** Longer than a lock is waited for, so that others get their turn. */
const RETRY_FIRST_MS = 500
const RETRY_MAX_MS = 5_000

export interface Migrated {
  applied: string[]
  /** Migrations of a newer release, beside which this one can work. */
  ahead: string[]
}

export interface MigrateOptions {
  folder?: string
  /** Gets a sentence when the migration has to wait: once for each reason in a row. */
  onWait?: (sentence: string) => void
}

class HeldError extends Error {}

/** Applies what is missing, each file once, forward only, by one process at a time. A failing file leaves nothing. */
export async function migrate(
  driver: Driver,
  { folder = MIGRATIONS, onWait = () => {} }: MigrateOptions = {},
): Promise<Migrated> {
  const files = readMigrations(folder)
  const applied: string[] = []
  let said = ''
  const say = (sentence: string) => {
    if (said !== sentence) onWait(sentence)
    said = sentence
  }
  for (;;) {
    let attempt = 0
    const step = await retry(() => takeStep(driver, files, ++attempt), {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        if (error instanceof HeldError) say(error.message)
        else if (isLockTimeout(error) || isTransient(error)) say(LOCKED)
        else return false
        return true
      },
    })
    applied.push(...step.applied)
    if (step.isDone) return { applied, ahead: step.ahead }
  }
}

const LOCKED =
  'A migration waits for a lock that somebody else holds, and asks again without holding others up: look for long transactions in pg_stat_activity.'
const HELD = 'Another process migrates the database: waiting until it is done.'

/** A file of the folder. `contracts` is true for one that takes away what an older release uses (docs/upgrade.md). */
interface Migration {
  name: string
  text: string
  contracts: boolean
}

/** The line of a migration that takes away what no release after the named migration uses. */
const CONTRACTS = /^-- Contracts \d{4}_\w+\.sql: \S/m

export function readMigrations(folder = MIGRATIONS): Migration[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(name => {
      const text = readFileSync(join(folder, name), 'utf8')
      return { name, text, contracts: CONTRACTS.test(text) }
    })
}

interface Step {
  applied: string[]
  ahead: string[]
  isDone: boolean
}

/** Sets up an empty database, or applies the next missing file, in one transaction. */
function takeStep(driver: Driver, files: readonly Migration[], attempt: number): Promise<Step> {
  return driver.setUp(async session => {
    const { run } = session
    const before = await readState(run)
    if (before) {
      const step = compare(before, files)
      if (step.missing.length === 0 && before.isDated && before.hasContracts)
        return { applied: [], ahead: step.ahead, isDone: true }
    }
    await lockMigrations(run)
    await run({ text: SCHEMA_MIGRATIONS, values: [] })
    await run({ text: `SET LOCAL lock_timeout = ${lockTimeoutMs(attempt)}`, values: [] })
    // Another process may have been faster.
    let state = (await readState(run)) as State
    if (!state.hasContracts) {
      await run({ text: ADD_CONTRACTS, values: [] })
      state = (await readState(run)) as State
    }
    const { missing, ahead } = compare(state, files)
    if (state.names.length === 0) {
      await prepareExtensions(run)
      await prepareTenantRole(run)
    }
    if (!state.isDated) await run({ text: DATE_TEMPLATE, values: [] })
    const now = state.names.length === 0 ? missing : missing.slice(0, 1)
    for (const migration of now) await apply(session, migration)
    return { applied: now.map(({ name }) => name), ahead, isDone: now.length === missing.length }
  })
}

const lockTimeoutMs = (attempt: number) =>
  attempt % PATIENT_EVERY === 0 ? PATIENT_TIMEOUT_MS : LOCK_TIMEOUT_MS

async function lockMigrations(run: SetUpSession['run']): Promise<void> {
  const query = (text: string, values: unknown[] = []) => run({ text, values }) as Promise<never[]>
  if (!(await tryLockUntilCommit({ query }, 'migrations'))) throw new HeldError(HELD)
}

async function apply({ run, exec }: SetUpSession, { name, text, contracts }: Migration): Promise<void> {
  await exec(text)
  await COMPUTED[name]?.(run)
  await run({
    text: 'INSERT INTO schema_migrations (name, contracts) VALUES ($1, $2)',
    values: [name, contracts],
  })
}

const SCHEMA_MIGRATIONS = `CREATE TABLE IF NOT EXISTS schema_migrations (
  name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(), contracts boolean NOT NULL DEFAULT false)`
const ADD_CONTRACTS =
  'ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS contracts boolean NOT NULL DEFAULT false'

interface State {
  names: string[]
  /** The names of those that take something away. */
  contracting: string[]
  /** False in a database made from the template that has not been started yet. */
  isDated: boolean
  /** False where an older release has set the database up. */
  hasContracts: boolean
}

/** Returns null for a database without migrations. */
async function readState(run: SetUpSession['run']): Promise<State | null> {
  const ask = <Row>(text: string) => run({ text, values: [] }) as Promise<Row[]>
  const [server] = await ask<{ version: string; found: boolean; contracts: boolean }>(
    `SELECT current_setting('server_version') AS version, to_regclass('schema_migrations') IS NOT NULL AS found,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('schema_migrations')
         AND attname = 'contracts' AND NOT attisdropped) AS contracts`,
  )
  checkVersion(server?.version ?? '')
  if (!server?.found) return null
  const rows = await ask<{ name: string; dated: boolean; contracts: boolean }>(
    `SELECT name, isfinite(applied_at) AS dated, ${server.contracts ? 'contracts' : 'false AS contracts'}
     FROM schema_migrations ORDER BY name`,
  )
  return {
    names: rows.map(({ name }) => name),
    contracting: rows.filter(({ contracts }) => contracts).map(({ name }) => name),
    isDated: rows.every(({ dated }) => dated),
    hasContracts: server.contracts,
  }
}

/** Throws if a newer release has taken away what this one uses. */
function compare(state: State, files: readonly Migration[]): { missing: Migration[]; ahead: string[] } {
  const known = new Set(files.map(({ name }) => name))
  const gone = state.contracting.filter(name => !known.has(name))
  if (gone.length > 0) {
    throw new Error(
      `The database belongs to a newer version of Fieldline, which has taken away what this one uses (${gone.join(', ')}): ` +
        'start that version or a newer one, or give this one a backup from before that upgrade, or another database (docs/upgrade.md).',
    )
  }
  const done = new Set(state.names)
  return {
    missing: files.filter(({ name }) => !done.has(name)),
    ahead: state.names.filter(name => !known.has(name)),
  }
}

/** The migrations of this database that took something away. */
export async function listContractions(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>('SELECT name FROM schema_migrations WHERE contracts')
  return rows.map(({ name }) => name)
}

const OLDEST = 16

/** Throws for a PostgreSQL that is too old: GRANT … WITH SET came with 16. */
export function checkVersion(version: string): void {
  if (Number.parseInt(version, 10) >= OLDEST) return
  throw new Error(
    `The database (DATABASE_URL) is PostgreSQL ${version}, and Fieldline needs ${OLDEST} or later: upgrade it, or name another one.`,
  )
}

/**
 * Before a database becomes a template (db/drivers/pglite-template.ts): removes the times that migrations wrote, which
 * are set at the first start.
 */
export const UNDATE_TEMPLATE = `WITH undated AS (UPDATE schema_migrations SET applied_at = '-infinity')
  UPDATE clock SET seen_at = '-infinity'`

const DATE_TEMPLATE = `WITH dated AS (UPDATE schema_migrations SET applied_at = now() WHERE NOT isfinite(applied_at))
  UPDATE clock SET seen_at = now() WHERE NOT isfinite(seen_at)`
