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
 * A job is queued, then claimed by a process, which keeps it by a lease that a heartbeat extends. It ends as done, as
 * failed when its attempts are used up, or as cancelled. An attempt that fails goes back into the queue with a delay.
 * A process that dies stops the heartbeat; its jobs are found abandoned and go back into the queue, or fail when that
 * was the last attempt. Whoever lost its lease can change nothing any more: each transaction of a job ends with a
 * check of the lease (`commit`). So what a job does in `commit` happens once, what it does outside at least once.
 *
 * Each kind has slots of its own, so a kind that is stuck keeps no other waiting, and a root of organizations may fill only
 * part of them, so a job that is stuck keeps no other waiting. Roots take turns. Where others wait, a job that takes
 * long gives way after its turn, and those that have had one leave a slot to those that have not.
 */
export interface JobRunner {
  /** Stops claiming jobs, tells those that run, and waits for them a moment. What does not end is claimed again later. */
  stop(): Promise<void>
}

export interface RunnerOptions {
  db: Database
  kinds: readonly JobKind[]
  onError: (error: unknown, doing: string) => void
  /** Whether no other process can have this database open: then leases of before are nobody's. */
  alone: boolean
  leaseMs?: number
  pollMs?: number
}

const LEASE_MS = 30_000
const POLL_MS = 1_000
const STOP_WITHIN_MS = 5_000
/** How long a job that was told to stop may take to do so, before its slot goes to the next. */
const GRACE_MS = 5_000
const AWAY_RETRY_MS = 500
/** How often a job whose turn is over looks for others. */
const LOOK_FOR_OTHERS_MS = 500
/** Queues that a process remembers as served, of each kind. */
const MAX_SERVED = 1_000
const STOPPED = { cancelled: 'The job was cancelled', lost: 'The job has been claimed by another process' }
const GAVE_WAY = 'Others have their turn'
const DIED = 'The process that ran it ended'

interface Running {
  kind: JobKind
  job: Job
  stop: AbortController
  settled: Promise<void>
  /** Whether it has had a turn, now or before. */
  isLong: boolean
  /** Goes on with it; null while it is at work. */
  resume: (() => void) | null
}

export async function startJobs(options: RunnerOptions): Promise<JobRunner> {
  const { db, kinds, onError, leaseMs = LEASE_MS, pollMs = POLL_MS } = options
  const running = new Map<string, Running>()
  const names = kinds.map(({ kind }) => kind)
  /** By kind, queues whose jobs were taken, the latest last. */
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
    const settled = Promise.race([work, leftBehind(stop.signal)])
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
    running.set(job.id, { kind, job, stop, settled, isLong: job.turns > 0, resume: null })
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
        // At least as long as it took to get to where it was, so that half of its time goes forward.
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
      // Behind those that wait already.
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

  /** What became of a job has to be written down, also where the database is away just now. */
  const persist = (write: () => Promise<void>) =>
    retry(write, { firstMs: AWAY_RETRY_MS, again: error => isAway(error) && !stopping })

  /** Jobs of processes that died go back into the queue, or fail when that was their last attempt. */
  async function recover(): Promise<void> {
    for (const { cancelRequested, ...job } of await listAbandonedJobs(db.system, names, [
      ...running.keys(),
    ])) {
      // One that cannot be ended keeps no other waiting; it is found again.
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
      await Promise.race([Promise.all(jobs.map(({ settled }) => settled)), late])
      clearTimeout(timer)
    },
  }
}

/** Rejects some time after the signal: what has not stopped by then is left behind. */
function leftBehind(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), GRACE_MS).unref(), {
      once: true,
    })
  })
}

/** Runs one at a time; when it is asked for meanwhile, once more afterwards. */
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
