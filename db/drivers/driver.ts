import type { Lane } from '../demand.ts'

/** What a driver has to offer; `pglite.ts` and `postgres.ts` do. */
export interface Driver {
  readonly isOneSession: boolean
  /** One statement in a transaction of its own. */
  run(lane: Lane, statement: Statement): Promise<unknown[]>
  runWriting(statement: Statement): Promise<unknown[]>
  copyIn(copy: CopyIn): Promise<void>
  /**
   * Opens a transaction that begins with `begin` (statements in one string), then commits, or rolls back on a throw.
   * `owner` shares the lane with others; without one it is that of the flow.
   */
  transaction<T>(
    lane: Lane | 'writing',
    begin: string,
    work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>,
    owner?: string,
  ): Promise<T>
  /** A transaction over the direct connection, without a limit of time: for migrations. */
  setUp<T>(work: (session: SetUpSession) => Promise<T>): Promise<T>
  /**
   * Takes the lock of the one process that stores without Kafka. Resolves to how to let go, or to null where another has
   * it; `onLost` is called when the session that holds it ends by itself.
   */
  holdWriterLock(onLost: () => void): Promise<(() => Promise<void>) | null>
  /** Listens from now on, through lost connections; calls `onGap` when notifications may have been missed. */
  listen(channel: string, onPayload: (payload: string) => void, onGap: () => void): void
  close(): Promise<void>
}

export interface SetUpSession {
  run(statement: Statement): Promise<unknown[]>
  /** Runs any number of statements, as a file has them. */
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

/** How long the one session of the embedded database belonged to one transaction, statement or step of its upkeep. */
export interface Hold {
  lane: Lane | 'writing' | 'upkeep'
  /** What others waited, at the most. */
  ms: number
  /** What the thread of the database worked of it: the rest is spent on the disk, between statements, or by a busy machine. */
  processorMs: number
  /** The statement that took most of it, without its values. */
  longest: string
}
