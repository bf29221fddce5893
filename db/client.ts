import { AsyncLocalStorage } from 'node:async_hooks'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import { v7 as uuid } from 'uuid'
import { openPglite } from './pglite.ts'
import { openPostgres } from './postgres.ts'

/** What runs SQL: inside a transaction, or one statement at a time. */
export interface Queryable {
  /** Runs one statement; `values` stand for $1, $2, … Rejects with the driver's error, see `db/errors.ts`. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** The same connection through drizzle, for statements that are built rather than written. */
  readonly orm: PgRemoteDatabase
}

/** Something that changed and that other processes have to know of at once. Carried by NOTIFY. */
export type ChangeEvent =
  | { kind: 'session'; sessionId: string }
  | { kind: 'user'; userId: string; organizationId: string }
  | { kind: 'device'; deviceId: string; organizationId: string }
  | { kind: 'sight'; organizationId: string }
  /** A job was made or is to stop. */
  | { kind: 'jobs' }
  /** The connection that listens was lost meanwhile: anything may have changed. */
  | { kind: 'resync' }

export interface Database {
  /**
   * Runs `work` in a transaction under the tenant role, which row-level security binds to one organization.
   * A query in it that forgets the organization sees nothing of the others.
   */
  tenant<T>(organizationId: string, work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Runs `work` in a transaction across organizations. `test/architecture.test.ts` lists who may. */
  system<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Across organizations too, each statement a transaction of its own. */
  readonly autocommit: Queryable
  /** Like `autocommit`, over the writer's own connections, so that no request stands in the way of storing. */
  readonly writing: Queryable
  /** Copies rows into a table and runs a statement, over the writer's connections, in one transaction and round trip. */
  copyIn(copy: CopyIn): Promise<void>
  /** Hears changes until the returned function is called. */
  onChange(listener: (event: ChangeEvent) => void): () => void
  close(): Promise<void>
}

/** What a driver has to offer; `pglite.ts` and `postgres.ts` do. */
export interface Driver {
  /** One statement in a transaction of its own. */
  run(statement: Statement): Promise<unknown[]>
  runWriting(statement: Statement): Promise<unknown[]>
  copyIn(copy: CopyIn): Promise<void>
  /** Opens a transaction with `begin` (several statements in one string), then commits, or rolls back on a throw. */
  transaction<T>(
    begin: string,
    work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>,
  ): Promise<T>
  /** A transaction over the direct connection, without a limit of time: for migrations. */
  setUp<T>(work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>): Promise<T>
  /** Listens from now on, through lost connections; calls `onGap` when notifications may have been missed. */
  listen(channel: string, onPayload: (payload: string) => void, onGap: () => void): void
  close(): Promise<void>
}

export interface CopyIn {
  /** The table with its columns. */
  into: string
  /** In the binary format of COPY, with header and trailer. */
  rows: Uint8Array
  /** A statement without parameters. */
  afterwards: string
}

export interface Statement {
  text: string
  values: readonly unknown[]
  /** Rows as arrays of columns instead of objects. */
  asArrays?: boolean
}

export const TENANT_ROLE = 'fieldline_tenant'
const CHANNEL = 'fieldline'

export interface DatabaseOptions {
  /** PostgreSQL; without it PGlite keeps its files under `directory`. */
  url?: string
  /** For LISTEN and migrations, where `url` is a pooler in transaction mode. */
  directUrl?: string
  directory: string
  onError: (error: unknown, doing: string) => void
}

/** Opens the database that the options name. It is not migrated yet, see `migrate.ts`. */
export async function openDatabase(options: DatabaseOptions): Promise<Database & { driver: Driver }> {
  const driver = options.url
    ? openPostgres({
        url: options.url,
        directUrl: options.directUrl ?? options.url,
        onError: options.onError,
      })
    : await openPglite({ directory: options.directory, onError: options.onError })
  return createDatabase(driver)
}

/** The two handles of the house over a driver. */
export function createDatabase(driver: Driver): Database & { driver: Driver } {
  const listeners = new Set<(event: ChangeEvent) => void>()
  let listening = false
  const emit = (event: ChangeEvent) => {
    for (const listener of listeners) listener(event)
  }

  // A statement outside an open transaction of the same flow would wait on PGlite for itself; fail at once instead.
  const open = new AsyncLocalStorage<true>()
  const alone = async (run: (statement: Statement) => Promise<unknown[]>, statement: Statement) => {
    if (open.getStore()) throw new Error('A transaction is open in this flow: use its handle')
    return run(statement)
  }
  const transaction = async <T>(begin: string, work: (tx: Queryable) => Promise<T>): Promise<T> => {
    if (open.getStore()) throw new Error('A transaction is open in this flow: use its handle')
    return open.run(true, () => driver.transaction(begin, run => work(createQueryable(run))))
  }

  return {
    driver,
    tenant: (organizationId, work) => {
      if (!isUuid(organizationId)) throw new Error('The organization is no identifier')
      // One round trip. The value is checked above, since SET takes no parameters.
      const begin =
        `BEGIN; SET LOCAL ROLE ${TENANT_ROLE}; ` + `SET LOCAL fieldline.organization_id = '${organizationId}'`
      return transaction(begin, work)
    },
    system: work => transaction('BEGIN', work),
    autocommit: createQueryable(statement => alone(driver.run, statement)),
    writing: createQueryable(driver.runWriting),
    copyIn: driver.copyIn,
    onChange(listener) {
      listeners.add(listener)
      if (!listening) {
        listening = true
        driver.listen(
          CHANNEL,
          payload => emit(JSON.parse(payload) as ChangeEvent),
          () => emit({ kind: 'resync' }),
        )
      }
      return () => listeners.delete(listener)
    },
    close: () => driver.close(),
  }
}

function createQueryable(run: (statement: Statement) => Promise<unknown[]>): Queryable {
  let orm: PgRemoteDatabase | undefined
  return {
    query: (text, values = []) => run({ text, values }) as Promise<never[]>,
    get orm() {
      orm ??= drizzle(async (text, values) => ({ rows: await run({ text, values, asArrays: true }) }))
      return orm
    },
  }
}

/**
 * Runs work over data records, on which the tenant role has no grant, inside a tenant's transaction. Its queries take
 * the organization themselves; `test/architecture.test.ts` lists who may.
 */
export async function overRecords<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  const [row] = await tx.query<{ role: string }>('SELECT current_user::text AS role')
  if (row?.role !== TENANT_ROLE) return work()
  await tx.query('SET LOCAL ROLE NONE')
  try {
    return await work()
  } finally {
    // After an error of SQL it fails, since the transaction can only roll back.
    await tx.query(`SET LOCAL ROLE ${TENANT_ROLE}`).catch(() => {})
  }
}

/** Tells every process of a change, when the transaction commits. */
export async function notify(tx: Queryable, event: ChangeEvent): Promise<void> {
  await tx.query('SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(event)])
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text is an identifier of ours; a malformed one must not reach a uuid column as an error. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text)
}

/** A new identifier: UUID version 7, so that identifiers sort by when they were made. */
export function newId(): string {
  return uuid()
}
