import type { CommandAnswer } from '../../db/queries/commands.ts'
import { createFairQueue } from '../../fair/fair-queue.ts'

export interface Device {
  organizationId: string
  deviceId: string
}

/** What the next turn of a device has to store. */
export interface Turn extends Device {
  /** The commands that it has acknowledged. */
  received: string[]
  answers: {
    answer: CommandAnswer
    resolve: (outcome: 'taken' | 'unknown') => void
    reject: (error: unknown) => void
  }[]
  /** The connections that have ended. */
  left: string[]
}

/** Turns at once: they share the connections for requests. */
const AT_ONCE = 8

/**
 * The turns of devices at their commands: a device has one at a time, and organizations take turns. What comes for a device during its turn is
 * gathered for its next one.
 */
export class CommandTurns {
  readonly #run: (turn: Turn) => Promise<void>
  /** The turns that have not begun. */
  readonly #next = new Map<string, Turn>()
  readonly #queue = createFairQueue<Turn>()
  readonly #running = new Set<string>()

  /** `run` does the work of a turn and never rejects. */
  constructor(run: (turn: Turn) => Promise<void>) {
    this.#run = run
  }

  /** The number of turns that run or wait. */
  get size(): number {
    return this.#running.size + this.#next.size
  }

  /** Orders a turn of the device. The caller adds its work at once. */
  order({ organizationId, deviceId }: Device): Turn {
    const known = this.#next.get(deviceId)
    if (known) return known
    const turn: Turn = { organizationId, deviceId, received: [], answers: [], left: [] }
    this.#next.set(deviceId, turn)
    if (!this.#running.has(deviceId)) this.#enqueue(turn)
    return turn
  }

  #enqueue(turn: Turn): void {
    this.#queue.push(turn, { organizationId: turn.organizationId, sender: 0 }, 1)
    // In the next turn of the event loop, so that what was read together is stored together.
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    while (this.#running.size < AT_ONCE) {
      const turn = this.#queue.shift()
      if (!turn) return
      const { deviceId } = turn
      this.#next.delete(deviceId)
      this.#running.add(deviceId)
      void this.#run(turn).finally(() => {
        this.#running.delete(deviceId)
        const next = this.#next.get(deviceId)
        if (next) this.#enqueue(next)
        else this.#begin()
      })
    }
  }
}
