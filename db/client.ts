import { AsyncLocalStorage } from 'node:async_hooks'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import { currentDemand, withDemand } from './demand.ts'
import type { BulkSize, CopyIn, Driver, Hold, Statement } from './drivers/driver.ts'
import { openPglite } from './drivers/pglite.ts'
import { openPostgres } from './drivers/postgres.ts'
import { isUuid } from './ids.ts'
import type { Secret } from './secret.ts'

// Re-exported for code that has a database anyway; threads without one load only `ids.ts`.
export { isUuid, newId } from './ids.ts'

/** Runs SQL: inside a transaction, or one statement at a time. */
export interface Queryable {
  /** Runs one statement; `values` stand for $1, $2, … Rejects with the driver's error, see `db/errors.ts`. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** The same connection through drizzle, for statements that are built rather than written. */
  readonly orm: PgRemoteDatabase
}

/** A change that other processes have to learn of at once. NOTIFY carries it. */
export type ChangeEvent =
  | { kind: 'session'; sessionId: string }
  | { kind: 'user'; userId: string; organizationId: string }
  | { kind: 'device'; deviceId: string; organizationId: string }
  /** A connection for trackers was created, changed or deleted. */
  | { kind: 'connection'; connectionId: string; organizationId: string }
  /** The device is read by another profile, or the profile has changed. */
  | { kind: 'device-profile'; deviceId: string; organizationId: string }
  | { kind: 'tracker-profile'; profileId: string; organizationId: string }
  /** The device has commands to be handed over. */
  | { kind: 'command'; deviceId: string; organizationId: string }
  /** The organization was deleted, so its open connections end. */
  | { kind: 'organization'; organizationId: string }
  | { kind: 'visibility'; organizationId: string }
  /**
   * A watched record has changed (src/resources/live/topics.ts). `before` holds the fields that decided who could see
   * it until then, if they may have changed.
   */
  | { kind: 'record'; topic: string; organizationId: string; recordId: string; before?: string }
  /** A tracking link was revoked. */
  | { kind: 'tracking-link'; linkId: string; organizationId: string }
  /** A job was created, or is to stop. */
  | { kind: 'jobs' }
  /** The listening connection was lost for a while, so anything may have changed. */
  | { kind: 'resync' }

export interface Database {
  /**
   * Runs `work` in a transaction under the tenant role, which row-level security binds to one organization. A query
   * that forgets the organization sees nothing of the others.
   */
  tenant<T>(organizationId: string, work: (tx: Queryable) => Promise<T>): Promise<T>
  /**
   * Across organizations; each statement is a transaction of its own. `test/architecture.test.ts` lists the files that
   * may use it.
   */
  readonly system: Queryable & {
    /** Runs `work` in one transaction. */
    transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  }
  /** Like `system`, for checking credentials, over connections that nothing else uses. */
  readonly signIn: Queryable
  /** Like `system`, over the writer's own connections, so that requests do not delay storing. */
  readonly writer: Queryable & {
    /** Copies rows into a table and runs a statement, in one transaction and round trip. */
    copyIn(copy: CopyIn): Promise<void>
    /** Runs `work` in one transaction. */
    transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  }
  /** Whether a slow statement blocks everybody else, and so must be split into several. Only the log's tier asks. */
  readonly isOneSession: boolean
  /** The most rows of a file that one transaction stores. */
  readonly bulk: BulkSize
  /**
   * Runs work of many statements, which nothing else has to wait for: on the embedded database those of others go first;
   * elsewhere the work uses the caller's own connection.
   */
  behindOthers<T>(work: () => T): T
  /**
   * Calls the listener for each change until the returned function is called. A listener that throws does not affect
   * the others.
   */
  onChange(listener: (event: ChangeEvent) => void): () => void
  /**
   * Resolves once every later change is heard. Whoever keeps a copy of the database reads it afterwards: a change between
   * the reading and the hearing would be missed.
   */
  hearChanges(): Promise<void>
  close(): Promise<void>
}

export const TENANT_ROLE = 'fieldline_tenant'
const CHANNEL = 'fieldline'

/**
 * The writer reads single points by their index, thousands of them. A week that has just begun has no statistics, and
 * then the planner sorts all points of the subject for each of them: 770 ms instead of 110 for 4,000. Or it compiles
 * the statement (jit), which took 650 ms.
 */
const BY_INDEX = 'SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off'

export interface DatabaseOptions {
  /** The URL of PostgreSQL; without it PGlite keeps its files in `directory`. */
  url?: string | Secret
  /** For LISTEN and migrations if `url` is a pooler in transaction mode. */
  directUrl?: string | Secret
  directory: string
  /** The number of files that PGlite keeps open. */
  maxFiles?: number
  onError: (error: unknown, doing: string) => void
  /** Called when this process can no longer use the database and has to end. Nothing acknowledged is lost by that. */
  onLost?: (error: Error) => void
  /** PGlite only: called with each hold of its one session and the duration. */
  onHold?: (hold: Hold) => void
}

/** Opens the configured database. It is not migrated yet, see `migrate.ts`. */
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

/** The handles of a database over a driver. */
export function createDatabase(
  driver: Driver,
  onError: DatabaseOptions['onError'],
): Database & { driver: Driver } {
  const listeners = new Set<(event: ChangeEvent) => void>()
  let hearing: Promise<void> | undefined
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

  const hearChanges = () => {
    hearing ??= driver.listen(CHANNEL, hear, () => emit({ kind: 'resync' }))
    return hearing
  }

  // On PGlite, a statement outside the open transaction of the same async context would wait for itself; it fails at
  // once instead.
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
    bulk: driver.bulk,
    behindOthers: work =>
      driver.isOneSession ? withDemand({ ...currentDemand(), lane: 'background' }, work) : work(),
    tenant: (organizationId, work) => {
      if (!isUuid(organizationId)) throw new Error('The organization is no identifier')
      // One round trip. The value was checked above, since SET takes no parameters.
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
      // Has no owner: storing goes on when one of the senders disconnects.
      transaction: <T>(work: (tx: Queryable) => Promise<T>) =>
        withDemand({ lane: 'requests' }, () =>
          driver.transaction('writing', BY_INDEX, run => work(createQueryable(run))),
        ),
    }),
    onChange(listener) {
      listeners.add(listener)
      void hearChanges()
      return () => listeners.delete(listener)
    },
    hearChanges,
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
 * Runs work on tables without grants for the tenant role (data records and accounts) inside a tenant's transaction. Its
 * queries name the organization or the account themselves; `test/architecture.test.ts` lists the files that may use it.
 */
export async function acrossOrganizations<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  const [row] = await tx.query<{ role: string }>('SELECT current_user::text AS role')
  if (row?.role !== TENANT_ROLE) return work()
  await tx.query('SET LOCAL ROLE NONE')
  try {
    return await work()
  } finally {
    // After an SQL error this fails, since the transaction can only roll back.
    await tx.query(`SET LOCAL ROLE ${TENANT_ROLE}`).catch(() => {})
  }
}

/** The fields of each kind of change; all of them are texts. */
const FIELDS: { [Kind in ChangeEvent['kind']]: readonly string[] } = {
  session: ['sessionId'],
  user: ['userId', 'organizationId'],
  device: ['deviceId', 'organizationId'],
  connection: ['connectionId', 'organizationId'],
  'device-profile': ['deviceId', 'organizationId'],
  command: ['deviceId', 'organizationId'],
  'tracker-profile': ['profileId', 'organizationId'],
  organization: ['organizationId'],
  visibility: ['organizationId'],
  record: ['topic', 'organizationId', 'recordId'],
  'tracking-link': ['linkId', 'organizationId'],
  jobs: [],
  resync: [],
}

/**
 * The change in a payload, or null if it is not valid: anybody who may connect to the database may send any
 * notification.
 */
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

/** Notifies every process of changes, in this order, when the transaction commits. */
export async function notify(tx: Queryable, ...events: ChangeEvent[]): Promise<void> {
  await tx.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload', [
    CHANNEL,
    events.map(event => JSON.stringify(event)),
  ])
}
