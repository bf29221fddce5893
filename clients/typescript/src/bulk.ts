import { FieldlineError } from './error.ts'
import type { components } from './interface.ts'
import { backOff, wait } from './retry.ts'

/** A point as it is sent: at least `lat`, `lng` and `timestamp`. */
export type AddedPoint = components['schemas']['NewPoint']

type PointsResult = components['schemas']['PointsResult']
type Rejection = PointsResult['rejected'][number]

export interface BulkReport {
  accepted: number
  duplicates: number
  rejected: number
}

export interface BulkOptions {
  /** Points that an earlier sender kept (`waiting`), to be sent first. */
  points?: readonly AddedPoint[]
  /** The number of points in a request, at most 5,000. */
  batch?: number
  /** How many points may wait; `add` throws beyond it, and takes none. */
  maxWaiting?: number
  /** Gets each point that the server refuses for good, with its reason. It is not sent again. */
  onRejected?: (point: AddedPoint, rejection: { reason: string; message: string }) => void
  /** Gets each failure after which the points are sent again. */
  onRetry?: (error: unknown) => void
}

const BATCH = 500
const MAX_WAITING = 100_000
const TOO_LARGE = 413

/**
 * Sends points in order, and keeps each one until the server has acknowledged it. A point may be sent twice; the history has it
 * once. The points of a program that ends are in `waiting`: it saves them, and gives them to its next sender.
 */
export class BulkSender {
  readonly report: BulkReport = { accepted: 0, duplicates: 0, rejected: 0 }
  readonly #send: (points: object[], signal: AbortSignal) => Promise<{ data: PointsResult }>
  readonly #options: BulkOptions
  readonly #stop = new AbortController()
  #waiting: AddedPoint[]
  #batch: number
  #sending: Promise<void> | undefined

  constructor(
    send: (points: object[], signal: AbortSignal) => Promise<{ data: PointsResult }>,
    options: BulkOptions,
  ) {
    this.#send = send
    this.#options = options
    this.#waiting = [...(options.points ?? [])]
    this.#batch = options.batch ?? BATCH
  }

  /** The points that are not acknowledged yet, oldest first. */
  get waiting(): readonly AddedPoint[] {
    return this.#waiting
  }

  /** Takes points and begins to send them. Throws, and takes none, where more than `maxWaiting` would wait. */
  add(...points: AddedPoint[]): void {
    const room = (this.#options.maxWaiting ?? MAX_WAITING) - this.#waiting.length
    if (points.length > room)
      throw new RangeError(`${this.#waiting.length} points wait already; ${points.length} more find no room.`)
    this.#waiting.push(...points)
    // A failure for good is told by flush().
    this.#begin().catch(() => {})
  }

  /**
   * Resolves when every point that was added is acknowledged or refused for good, however long the server is away. Rejects where
   * the server refuses the sender itself, such as a revoked key; the points stay in `waiting`.
   */
  async flush(): Promise<BulkReport> {
    while (this.#waiting.length > 0) await this.#begin()
    return this.report
  }

  /** Stops sending. What is not acknowledged stays in `waiting`. */
  async close(): Promise<void> {
    this.#stop.abort(new FieldlineError(0, 'closed', 'The sender was closed.'))
    await this.#sending?.catch(() => {})
  }

  #begin(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    for (let failures = 0; this.#waiting.length > 0; ) {
      this.#stop.signal.throwIfAborted()
      const points = this.#waiting.slice(0, this.#batch)
      try {
        this.#settle(points, (await this.#send(points, this.#stop.signal)).data)
        failures = 0
      } catch (error) {
        this.#stop.signal.throwIfAborted()
        if (this.#settleRefused(points, error)) continue
        this.#options.onRetry?.(error)
        await wait(backOff(failures++), this.#stop.signal)
      }
    }
  }

  /** Settles an answer that is final; false where the points have to be sent again. Throws where the sender is refused. */
  #settleRefused(points: AddedPoint[], error: unknown): boolean {
    if (!(error instanceof FieldlineError)) throw error
    const { status, body } = error
    if (status === TOO_LARGE && points.length > 1) {
      this.#batch = Math.ceil(points.length / 2)
      return true
    }
    const report = (body as { data?: PointsResult } | null)?.data
    // All of them are wrong: the server says so of each one, with status 400.
    if (status === 400 && report?.rejected?.length === points.length) {
      this.#settle(points, report)
      return true
    }
    if (status === TOO_LARGE) {
      const rejected = [{ index: 0, reason: 'too-large', message: error.message }] as unknown as Rejection[]
      this.#settle(points, { accepted: 0, duplicates: 0, rejected })
      return true
    }
    if (status === 0 || status === 408 || status === 429 || status >= 500) return false
    throw error
  }

  #settle(points: AddedPoint[], { accepted, duplicates, rejected }: PointsResult): void {
    this.#waiting.splice(0, points.length)
    this.report.accepted += accepted
    this.report.duplicates += duplicates
    this.report.rejected += rejected.length
    for (const { index, reason, message } of rejected)
      this.#options.onRejected?.(points[index] as AddedPoint, { reason, message })
  }
}
