import type { Queryable } from '../../db/client.ts'
import type { Job } from '../../db/queries/jobs.ts'

/** The means of a running job. */
export interface JobContext<Payload> {
  job: Job<Payload>
  /**
   * Aborted when the job is cancelled, takes too long, is claimed by another process, or the process stops. Work that
   * continues anyway is abandoned and cannot commit.
   */
  signal: AbortSignal
  /**
   * Runs work in a transaction that commits only while this process holds the job and the job is not cancelled. It runs
   * under the tenant role for a job of an organization, otherwise across organizations. `progress` is stored in the
   * same transaction, so that the next claim continues exactly there.
   */
  commit<T>(work: (tx: Queryable) => Promise<T>, progress?: unknown): Promise<T>
  /**
   * Called between two steps: after its turn, a job gives way to waiting ones. A job of a `pausable` kind waits here
   * for its next turn; another one is stopped by an error, and continues later from its progress.
   */
  passTurn(): Promise<void>
}

/** A kind of job, and how it runs. */
export interface JobKind<Payload = unknown> {
  kind: string
  /** The number of jobs of this kind that this process runs at once. */
  slots: number
  /**
   * The number of jobs that organizations of one root (fair/roots.ts) run at once, over all processes. It is less than the
   * slots, so that stuck jobs of one root leave room for the others.
   */
  slotsPerRoot: number
  /** After this time a job gives way to others. Kinds without it never take long. */
  turnMs?: number
  /** The number of paused jobs that stay in the process' memory. Without it a job starts again from its progress. */
  pausable?: number
  /** The maximum of attempts, including those of processes that died. */
  attempts: number
  /** The delay after a failed attempt, before jitter. */
  backoffMs: (attempt: number) => number
  /** A job that runs longer is stopped and fails. */
  timeoutMs: number
  /** For repeated jobs: the time from the end of one to the start of the next. */
  everyMs?: number
  /** Runs the job. The return value is stored as its result. */
  run(context: JobContext<Payload>): Promise<unknown>
  /**
   * Called when the job has failed finally or was cancelled, in the same transaction, to update the record it works for.
   */
  ended?(
    tx: Queryable,
    job: Job<Payload>,
    end: { status: 'failed' | 'cancelled'; error: string },
  ): Promise<void>
}

/** 1 s, 2 s, 4 s, … up to five minutes. */
export const doublingBackoff = (attempt: number) => Math.min(1000 * 2 ** (attempt - 1), 5 * 60_000)

/** Why a job stops early: the reason of its signal, also thrown by `commit`. */
export class Stopped extends Error {
  readonly why: 'cancelled' | 'timeout' | 'lost' | 'shutdown' | 'turn'

  constructor(why: Stopped['why'], message: string) {
    super(message)
    this.why = why
  }
}
