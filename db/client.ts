import { AsyncLocalStorage } from 'node:async_hooks'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import { currentDemand, withDemand } from './demand.ts'
import type { CopyIn, Driver, Hold, Statement } from './drivers/driver.ts'
import { openPglite } from './drivers/pglite.ts'
import { openPostgres } from './drivers/postgres.ts'
import { isUuid } from './ids.ts'

// Whoever has a database names its records; threads that have none load the names alone.
export { isUuid, newId } from './ids.ts'

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
  /** The organization was deleted: whatever is open of it ends. */
  | { kind: 'organization'; organizationId: string }
  | { kind: 'visibility'; organizationId: string }
  /**
   * A record that somebody may watch has changed (src/resources/live/topics.ts). `before` is what decided who saw it until then,
   * where that may be another now.
   */
  | { kind: 'record'; topic: string; organizationId: string; recordId: string; before?: string }
  /** A tracking link was revoked. */
  | { kind: 'tracking-link'; linkId: string; organizationId: string }
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
  /** Across organizations, each statement a transaction of its own. `test/architecture.test.ts` lists who may. */
  readonly system: Queryable & {
    /** Runs `work` in one transaction. */
    transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  }
  /** Like `system`, for checking credentials, over connections that nothing else stands in the way of. */
  readonly signIn: Queryable
  /** Like `system`, over the writer's own connections, so that no request stands in the way of storing. */
  readonly writer: Queryable & {
    /** Copies rows into a table and runs a statement, in one transaction and round trip. */
    copyIn(copy: CopyIn): Promise<void>
    /** Runs `work` in one transaction. */
    transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  }
  /** Whether a statement that takes long holds up everybody else, and has to be cut into several. */
  readonly isOneSession: boolean
  /** Hears changes until the returned function is called. A listener that throws keeps no other from hearing. */
  onChange(listener: (event: ChangeEvent) => void): () => void
  close(): Promise<void>
}

export const TENANT_ROLE = 'fieldline_tenant'
const CHANNEL = 'fieldline'

/**
 * What the writer reads are single points by their index, thousands of them. A week that has just begun has no statistics,
 * and without these the planner sorts all points of the subject for each: 770 ms instead of 110 for 4,000 of them, or
 * compiles the statement (jit), which took 650.
 */
const BY_INDEX = 'SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off'

export interface DatabaseOptions {
  /** PostgreSQL; without it PGlite keeps its files under `directory`. */
  url?: string
  /** For LISTEN and migrations, where `url` is a pooler in transaction mode. */
  directUrl?: string
  directory: string
  /** Files that PGlite keeps open. */
  maxFiles?: number
  onError: (error: unknown, doing: string) => void
  /** This process can use the database no more, and has to end: nothing that it acknowledged is lost by that. */
  onLost?: (error: Error) => void
  /** PGlite alone: what has its one session, and for how long. */
  onHold?: (hold: Hold) => void
}

/** Opens the database that the options name. It is not migrated yet, see `migrate.ts`. */
export async function openDatabase(options: DatabaseOptions): Promise<Database & { driver: Driver }> {
  const driver = options.url
    ? openPostgres({
        url: options.url,
        directUrl: options.directUrl ?? options.url,
        onError: options.onError,
      })
    : await openPglite(options)
  return createDatabase(driver, options.onError)
}

/** The two handles of the house over a driver. */
export function createDatabase(
  driver: Driver,
  onError: DatabaseOptions['onError'],
): Database & { driver: Driver } {
  const listeners = new Set<(event: ChangeEvent) => void>()
  let listening = false
  const emit = (event: ChangeEvent) => {
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        onError(error, `telling of a change (${event.kind})`)
      }
    }
  }
  const hear = (payload: string) => {
    const event = readChange(payload)
    if (event) emit(event)
    else onError(new Error(`Not one of ours: ${payload.slice(0, 100)}`), 'reading a notification, ignored')
  }

  // A statement outside an open transaction of the same flow would wait on PGlite for itself; fail at once instead.
  const open = new AsyncLocalStorage<true>()
  const alone = async (run: (statement: Statement) => Promise<unknown[]>, statement: Statement) => {
    if (open.getStore()) throw new Error('A transaction is open in this flow: use its handle')
    return run(statement)
  }
  const transaction = async <T>(
    begin: string,
    work: (tx: Queryable) => Promise<T>,
    owner?: string,
  ): Promise<T> => {
    if (open.getStore()) throw new Error('A transaction is open in this flow: use its handle')
    const { lane } = currentDemand()
    return open.run(true, () => driver.transaction(lane, begin, run => work(createQueryable(run)), owner))
  }

  return {
    driver,
    isOneSession: driver.isOneSession,
    tenant: (organizationId, work) => {
      if (!isUuid(organizationId)) throw new Error('The organization is no identifier')
      // One round trip. The value is checked above, since SET takes no parameters.
      const begin =
        `SET LOCAL ROLE ${TENANT_ROLE}; ` + `SET LOCAL fieldline.organization_id = '${organizationId}'`
      return transaction(begin, work, organizationId)
    },
    system: Object.assign(
      createQueryable(statement =>
        alone(statement => driver.run(currentDemand().lane, statement), statement),
      ),
      { transaction: <T>(work: (tx: Queryable) => Promise<T>) => transaction('', work) },
    ),
    signIn: createQueryable(statement => driver.run('signIn', statement)),
    writer: Object.assign(createQueryable(driver.runWriting), {
      copyIn: (copy: CopyIn) => driver.copyIn(copy),
      // On nobody's behalf: what is stored goes on where one of those who sent it hangs up.
      transaction: <T>(work: (tx: Queryable) => Promise<T>) =>
        withDemand({ lane: 'requests' }, () =>
          driver.transaction('writing', BY_INDEX, run => work(createQueryable(run))),
        ),
    }),
    onChange(listener) {
      listeners.add(listener)
      if (!listening) {
        listening = true
        driver.listen(CHANNEL, hear, () => emit({ kind: 'resync' }))
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
 * Runs work over what the tenant role has no grant on, data records and accounts, inside a tenant's transaction. Its
 * queries take the organization or the account themselves; `test/architecture.test.ts` lists who may.
 */
export async function acrossOrganizations<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
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

/** What a change of each kind names; all of them texts. */
const FIELDS: { [Kind in ChangeEvent['kind']]: readonly string[] } = {
  session: ['sessionId'],
  user: ['userId', 'organizationId'],
  device: ['deviceId', 'organizationId'],
  organization: ['organizationId'],
  visibility: ['organizationId'],
  record: ['topic', 'organizationId', 'recordId'],
  'tracking-link': ['linkId', 'organizationId'],
  jobs: [],
  resync: [],
}

/** The change that a payload tells of, or null: whoever may connect to the database may notify whatever it likes. */
function readChange(payload: string): ChangeEvent | null {
  let event: { [field: string]: unknown } | null
  try {
    event = JSON.parse(payload)
  } catch {
    return null
  }
  const kind = String(event?.kind)
  if (!event || !Object.hasOwn(FIELDS, kind)) return null
  const whole = FIELDS[kind as ChangeEvent['kind']].every(field => typeof event[field] === 'string')
  return whole ? (event as ChangeEvent) : null
}

/** Tells every process of changes, in this order, when the transaction commits. */
export async function notify(tx: Queryable, ...events: ChangeEvent[]): Promise<void> {
  await tx.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload', [
    CHANNEL,
    events.map(event => JSON.stringify(event)),
  ])
}
