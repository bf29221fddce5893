import type { Lane } from '../demand.ts'

/** The interface of a driver, which `pglite.ts` and `postgres.ts` implement. */
/** The connections of one purpose. */
export interface LaneFigures {
  name: string
  open: number
  idle: number
  max: number
  /** Statements that wait for a connection. */
  waiting: number
}

export interface Driver {
  readonly isOneSession: boolean
  /** Absent where there are no connections. */
  readLanes?(): LaneFigures[]
  readonly bulk: BulkSize
  /** Runs one statement in a transaction of its own. */
  run(lane: Lane, statement: Statement): Promise<unknown[]>
  runWriting(statement: Statement): Promise<unknown[]>
  copyIn(copy: CopyIn): Promise<void>
  /**
   * Opens a transaction that begins with `begin` (statements in one string), and commits it, or rolls back when `work`
   * throws. `owner` takes turns with others in the lane; by default it is the owner in the async context.
   */
  transaction<T>(
    lane: Lane | 'writing',
    begin: string,
    work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>,
    owner?: string,
  ): Promise<T>
  /** A transaction over the direct connection without a time limit, for migrations. */
  setUp<T>(work: (session: SetUpSession) => Promise<T>): Promise<T>
  /**
   * Takes the lock of the only process that stores without Kafka. Resolves to a function that releases it, or to null
   * if another process holds it; `onLost` is called when the session that holds it ends unexpectedly.
   */
  holdWriterLock(onLost: () => void): Promise<(() => Promise<void>) | null>
  /**
   * Listens from the moment when it resolves, even across lost connections; calls `onGap` when notifications may have been
   * missed since. While the database is away it tries again; it resolves at closing too.
   */
  listen(channel: string, onPayload: (payload: string) => void, onGap: () => void): Promise<void>
  close(): Promise<void>
}

/** The most rows that one transaction stores while others wait for it. It ends at the first of both limits. */
export interface BulkSize {
  rows: number
  characters: number
}

export interface SetUpSession {
  run(statement: Statement): Promise<unknown[]>
  /** Runs any number of statements, as in a file. */
  exec(text: string): Promise<void>
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

/** How long one transaction, statement or maintenance step held the one session of the embedded database. */
export interface Hold {
  lane: Lane | 'writing' | 'upkeep'
  /** The maximum time that others waited for it. */
  ms: number
  /**
   * The processor time of the database's thread. The rest was spent on the disk, between statements, or by a busy
   * machine.
   */
  processorMs: number
  /** The statement that took most of the time, without its values. */
  longest: string
}
