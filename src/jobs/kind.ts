import type { Queryable } from '../../db/client.ts'
import type { Job } from '../../db/queries/jobs.ts'

/** What a job has while it runs. */
export interface JobContext<Payload> {
  job: Job<Payload>
  /**
   * Aborted when the job is cancelled, takes too long, was claimed by another process, or the process stops. Work
   * that goes on regardless is left behind: it can commit nothing.
   */
  signal: AbortSignal
  /**
   * Runs work in a transaction that commits only while the job is this process's and not cancelled: under the tenant role where the job
   * is of an organization, across organizations otherwise. With `progress`, keeps how far the job is in the same
   * transaction, so that whoever claims it next goes on from exactly there.
   */
  commit<T>(work: (tx: Queryable) => Promise<T>, progress?: unknown): Promise<T>
  /**
   * Between two steps: where it has had its turn and others wait, it gives way. A kind that is `pausable` waits in here
   * until it is its turn again; another one is stopped by a throw, and goes on from its progress.
   */
  passTurn(): Promise<void>
}

/** A kind of job, and how it is run. */
export interface JobKind<Payload = unknown> {
  kind: string
  /** How many this process runs at once. */
  slots: number
  /**
   * How many of the organizations of one root (db/roots.ts) run at once, over all processes. Fewer than the slots, so that
   * jobs of one that are stuck leave room for the others.
   */
  slotsPerRoot: number
  /** After that time it gives way to others. Without it none of the kind takes long. */
  turnMs?: number
  /** How many that gave way wait in the memory of the process. Without it they begin again from their progress. */
  pausable?: number
  /** How often it is tried, a process that died under it included. */
  attempts: number
  /** How long to wait after an attempt that failed, before jitter. */
  backoffMs: (attempt: number) => number
  /** Beyond this it is stopped and counts as failed. */
  timeoutMs: number
  /** For what has to be done again and again: the time from the end of one to the next. */
  everyMs?: number
  /** Does it. What it returns is kept as the result. */
  run(context: JobContext<Payload>): Promise<unknown>
  /** When it has failed for good or was cancelled, in the transaction that says so: for the record that it is for. */
  ended?(
    tx: Queryable,
    job: Job<Payload>,
    end: { status: 'failed' | 'cancelled'; error: string },
  ): Promise<void>
}

/** 1 s, 2 s, 4 s, … up to five minutes. */
export const doublingBackoff = (attempt: number) => Math.min(1000 * 2 ** (attempt - 1), 5 * 60_000)

/** Why a job stops before its end: the reason of its signal, and thrown out of `commit`. */
export class Stopped extends Error {
  readonly why: 'cancelled' | 'timeout' | 'lost' | 'shutdown' | 'turn'

  constructor(why: Stopped['why'], message: string) {
    super(message)
    this.why = why
  }
}
