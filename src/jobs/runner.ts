import type { Database, Queryable } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { isAway } from '../../db/errors.ts'
import {
  abandonLeases,
  claimJob,
  extendLeases,
  finishJob,
  insertJob,
  isOtherDue,
  type Job,
  keepProgress,
  listAbandonedJobs,
  listDueKinds,
  requeueJob,
} from '../../db/queries/jobs.ts'
import { retry } from '../../db/retry.ts'
import { type JobContext, type JobKind, Stopped } from './kind.ts'

/**
 * Runs jobs: rows of the table `jobs`, the same on both databases and however many processes there are.
 *
 * A job is queued, then claimed by a process, which holds it by a lease that a heartbeat extends. It ends as done, as
 * failed after its last attempt, or as cancelled. After a failed attempt it returns to the queue with a delay. When a
 * process dies, its heartbeats end; its jobs are found abandoned and return to the queue, or fail after the last
 * attempt. A process that has lost a lease can change nothing any more, because each transaction of a job ends with a
 * check of the lease (`commit`). So work in `commit` happens once, and work outside of it at least once.
 *
 * Each kind has its own slots, so a stuck kind does not block the others. The organizations of one root may only fill
 * part of them, so stuck jobs do not block other roots. Roots take turns. While others wait, a long job gives way after
 * its turn, and jobs that have had a turn leave a slot to those that have not.
 */
export interface JobRunner {
  /** Stops claiming, aborts running jobs, and waits a moment for them. Jobs that do not end are claimed again later. */
  stop(): Promise<void>
}

export interface RunnerOptions {
  db: Database
  kinds: readonly JobKind[]
  onError: (error: unknown, doing: string) => void
  /** Whether no other process can have this database open, so that earlier leases are no longer held. */
  alone: boolean
  leaseMs?: number
  pollMs?: number
}

const LEASE_MS = 30_000
const POLL_MS = 1_000
const STOP_WITHIN_MS = 5_000
/** How long a stopped job may take to end before its slot goes to the next one. */
const GRACE_MS = 5_000
const AWAY_RETRY_MS = 500
/** How often a job whose turn is over checks for waiting jobs. */
const LOOK_FOR_OTHERS_MS = 500
/** The number of served queues that a process remembers for each kind. */
const MAX_SERVED = 1_000
const STOPPED = { cancelled: 'The job was cancelled', lost: 'The job has been claimed by another process' }
const GAVE_WAY = 'Others have their turn'
const DIED = 'The process that ran it ended'

interface Running {
  kind: JobKind
  job: Job
  stop: AbortController
  finished: Promise<void>
  /** Whether it has used up a turn, now or earlier. */
  isLong: boolean
  /** Resumes a paused job; null while it works. */
  resume: (() => void) | null
}

export async function startJobs(options: RunnerOptions): Promise<JobRunner> {
  const { db, kinds, onError, leaseMs = LEASE_MS, pollMs = POLL_MS } = options
  const running = new Map<string, Running>()
  const names = kinds.map(({ kind }) => kind)
  /** The queues from which jobs were taken, by kind, the latest last. */
  const served = new Map<string, Set<string>>()
  let stopping = false

  const inScope = <T>({ organizationId }: Job, work: (tx: Queryable) => Promise<T>): Promise<T> =>
    organizationId ? db.tenant(organizationId, work) : db.system.transaction(work)

  const repeat = async (tx: Queryable, { kind, everyMs }: JobKind, delayMs = everyMs) => {
    if (everyMs) await insertJob(tx, { kind, organizationId: null, uniqueKey: kind, delayMs })
  }

  function start(kind: JobKind, job: Job): void {
    const stop = new AbortController()
    const timeout = setTimeout(
      () => stop.abort(new Stopped('timeout', `It took longer than ${kind.timeoutMs / 1000} s`)),
      kind.timeoutMs,
    )
    const context: JobContext<unknown> = {
      job,
      signal: stop.signal,
      commit: (work, progress) =>
        inScope(job, async tx => {
          const result = await work(tx)
          const lease = await keepProgress(tx, job, progress)
          if (lease !== 'held') throw new Stopped(lease, STOPPED[lease])
          return result
        }),
      passTurn: createTurnPassing(kind, job, stop.signal),
    }
    const work = withDemand({ lane: 'background', owner: job.organizationId ?? undefined }, async () =>
      kind.run(context),
    )
    const finished = Promise.race([work, rejectAfterGrace(stop.signal)])
      .then(
        result => persist(() => succeed(kind, job, result)),
        error => persist(() => fail(kind, job, error, stop.signal)),
      )
      .catch(error => onError(error, `ending the job ${kind.kind} ${job.id}`))
      .finally(() => {
        clearTimeout(timeout)
        running.delete(job.id)
        if (!stopping) wake()
      })
    work.catch(() => {})
    running.set(job.id, { kind, job, stop, finished, isLong: job.turns > 0, resume: null })
  }

  function createTurnPassing(kind: JobKind, job: Job, signal: AbortSignal): () => Promise<void> {
    const { turnMs = Number.POSITIVE_INFINITY, pausable } = kind
    const started = performance.now()
    let begun: number | undefined
    let ends = Number.POSITIVE_INFINITY
    let looked = Number.NEGATIVE_INFINITY
    return async () => {
      const now = performance.now()
      if (begun === undefined) {
        begun = now
        // At least the time that it took to get to its former position, so that half of its time is progress.
        ends = now + Math.max(turnMs, now - started)
      }
      const own = running.get(job.id)
      if (!own || now < ends || now - looked < LOOK_FOR_OTHERS_MS) return
      own.isLong = true
      looked = now
      const paused = listPaused(kind).length
      if (pausable === undefined) {
        if (await isOtherDue(db.system, job, listFullQueues(kind))) throw new Stopped('turn', GAVE_WAY)
        return
      }
      if (paused === 0 && !(await isOtherDue(db.system, job, listFullQueues(kind)))) return
      // Moves behind the jobs that wait already.
      running.delete(job.id)
      running.set(job.id, own)
      await new Promise<void>((resolve, reject) => {
        const stopped = () => reject(signal.reason)
        signal.addEventListener('abort', stopped, { once: true })
        own.resume = () => {
          own.resume = null
          signal.removeEventListener('abort', stopped)
          resolve()
        }
        wake()
      })
      ends = performance.now() + turnMs
    }
  }

  const listRunning = (kind: JobKind) => [...running.values()].filter(one => one.kind === kind)
  const listPaused = (kind: JobKind) => listRunning(kind).filter(one => one.resume)
  const listFullQueues = (kind: JobKind) => {
    const queues = listRunning(kind).map(one => one.job.queue)
    return queues.filter(queue => queues.filter(other => other === queue).length >= kind.slotsPerRoot)
  }

  async function succeed(kind: JobKind, job: Job, result: unknown): Promise<void> {
    await inScope(job, async tx => {
      if (await finishJob(tx, job, { status: 'done', result })) await repeat(tx, kind)
    })
  }

  async function fail(kind: JobKind, job: Job, error: unknown, signal: AbortSignal): Promise<void> {
    const stopped = error instanceof Stopped ? error : signal.reason
    const why = stopped instanceof Stopped ? stopped.why : undefined
    if (why === 'lost') return
    const message = error instanceof Error ? error.message : String(error)
    if (why !== 'cancelled' && why !== 'shutdown' && why !== 'turn')
      onError(error, `the job ${kind.kind} ${job.id}`)
    await inScope(job, async tx => {
      if (why === 'shutdown' || why === 'turn') {
        return requeueJob(tx, job, { delayMs: 0, error: null, counts: false, isTurn: why === 'turn' })
      }
      if (why !== 'cancelled' && job.attempt < kind.attempts) {
        const delayMs = kind.backoffMs(job.attempt) * (0.75 + Math.random() / 2)
        return requeueJob(tx, job, { delayMs, error: message, counts: true })
      }
      const status = why === 'cancelled' ? 'cancelled' : 'failed'
      if (!(await finishJob(tx, job, { status, error: message }))) return
      await kind.ended?.(tx, job, { status, error: message })
      await repeat(tx, kind)
    })
  }

  /** The result of a job must be stored, even if the database is away at the moment. */
  const persist = (write: () => Promise<void>) =>
    retry(write, { firstMs: AWAY_RETRY_MS, again: error => isAway(error) && !stopping })

  /** Returns jobs of processes that died to the queue, or fails them after their last attempt. */
  async function recover(): Promise<void> {
    for (const { cancelRequested, ...job } of await listAbandonedJobs(db.system, names, [
      ...running.keys(),
    ])) {
      // An error with one job does not block the others; it is found again.
      await recoverOne(job, cancelRequested).catch(error =>
        onError(error, `recovering the job ${job.kind} ${job.id}`),
      )
      wake()
    }
  }

  async function recoverOne(job: Job, cancelRequested: boolean): Promise<void> {
    const kind = kinds.find(one => one.kind === job.kind) as JobKind
    await inScope(job, async tx => {
      if (!cancelRequested && job.attempt < kind.attempts) {
        return requeueJob(tx, job, { delayMs: 0, error: DIED, counts: true })
      }
      const status = cancelRequested ? 'cancelled' : 'failed'
      if (!(await finishJob(tx, job, { status, error: DIED }))) return
      await kind.ended?.(tx, job, { status, error: DIED })
      await repeat(tx, kind)
    })
  }

  async function poll(): Promise<void> {
    const due = await listDueKinds(db.system, names)
    for (const kind of kinds) {
      const atWork = () => listRunning(kind).filter(one => !one.resume)
      while (!stopping && atWork().length < kind.slots) {
        const hasRoom = listPaused(kind).length <= (kind.pausable ?? 0)
        const job = due.has(kind.kind) && hasRoom ? await claim(kind, atWork()) : null
        if (job) start(kind, job)
        const [paused] = listPaused(kind)
        if (atWork().length < kind.slots && paused?.resume) paused.resume()
        else if (!job) break
      }
    }
  }

  async function claim(kind: JobKind, atWork: readonly Running[]): Promise<Job | null> {
    const queues = served.get(kind.kind) ?? new Set()
    const longs = atWork.filter(({ isLong }) => isLong).length
    const job = await claimJob(db.system, kind.kind, {
      maxPerRoot: kind.slotsPerRoot,
      leaseMs,
      served: [...queues],
      onlyNew: kind.turnMs !== undefined && longs > 0 && longs >= kind.slots - 1,
    })
    if (!job) return null
    queues.delete(job.queue)
    queues.add(job.queue)
    const [oldest] = queues
    if (queues.size > MAX_SERVED && oldest !== undefined) queues.delete(oldest)
    served.set(kind.kind, queues)
    return job
  }

  async function beat(): Promise<void> {
    await recover()
    const jobs = [...running.values()]
    if (jobs.length === 0) return
    const leases = await extendLeases(
      db.system,
      jobs.map(({ job }) => job),
      leaseMs,
    )
    for (const { job, stop } of jobs) {
      const lease = leases.get(job.id)
      if (!lease) stop.abort(new Stopped('lost', STOPPED.lost))
      else if (lease.cancelRequested) stop.abort(new Stopped('cancelled', STOPPED.cancelled))
    }
  }

  const wake = createTurn(poll, error => onError(error, 'claiming jobs'))
  const pulse = createTurn(beat, error => onError(error, 'extending leases'))

  if (options.alone) await abandonLeases(db.system)
  await db.system.transaction(async tx => {
    for (const kind of kinds) await repeat(tx, kind, kind.everyMs && 0)
  })
  const stopListening = db.onChange(event => {
    if (event.kind !== 'jobs' || stopping) return
    wake()
    pulse()
  })
  const timers = [setInterval(wake, pollMs), setInterval(pulse, leaseMs / 3)]
  pulse()
  wake()

  return {
    async stop() {
      stopping = true
      stopListening()
      for (const timer of timers) clearInterval(timer)
      await Promise.all([wake.idle(), pulse.idle()])
      const jobs = [...running.values()]
      for (const { stop } of jobs) stop.abort(new Stopped('shutdown', 'The process stops'))
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>(resolve => {
        timer = setTimeout(resolve, STOP_WITHIN_MS)
      })
      await Promise.race([Promise.all(jobs.map(({ finished }) => finished)), late])
      clearTimeout(timer)
    },
  }
}

/** Rejects some time after the signal, so that a job that has not stopped by then is abandoned. */
function rejectAfterGrace(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), GRACE_MS).unref(), {
      once: true,
    })
  })
}

/** Runs `work` one at a time; a call during a run causes one more run afterwards. */
function createTurn(work: () => Promise<void>, onError: (error: unknown) => void) {
  let current: Promise<void> | undefined
  let again = false
  const turn = () => {
    if (current) {
      again = true
      return
    }
    current = work()
      .catch(onError)
      .finally(() => {
        current = undefined
        if (!again) return
        again = false
        turn()
      })
  }
  turn.idle = async () => {
    while (current) await current
  }
  return turn
}
