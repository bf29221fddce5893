import { rootOf } from './roots.ts'
import { Rounds } from './rounds.ts'

/** A line gives memory back once this many of its items have been taken. */
const COMPACT_FROM = 1_000

/** Decides the turn: the roots of organizations take turns, and within a root the senders take turns. */
export interface Owner {
  organizationId: string
  sender: number
}

/**
 * A queue in which a sender with many or large items delays nobody else. The roots of organizations take turns by cost
 * (fair/rounds.ts), and within a root the senders. The items of one sender keep their order.
 */
export interface FairQueue<Item> {
  readonly size: number
  /** `cost` is a whole number from 1. */
  push(item: Item, owner: Owner, cost: number): void
  /** Returns the item whose turn it is, and leaves it in the queue. */
  peek(): Item | undefined
  /** Removes and returns that item. */
  shift(): Item | undefined
  /** Removes and returns the items that pass the test. */
  remove(test: (item: Item) => boolean): Item[]
}

export function createFairQueue<Item>(): FairQueue<Item> {
  const roots = new Rounds<string, Root<Item>>()
  let size = 0

  function shrink(root: Root<Item>, items: number): void {
    root.size -= items
    size -= items
    if (root.size === 0) root.senders.clear()
    if (size === 0) roots.clear()
  }

  return {
    get size() {
      return size
    },

    push(item, { organizationId, sender }, cost) {
      const name = rootOf(organizationId)
      const root = roots.get(name) ?? roots.add(name, { senders: new Rounds(), size: 0 })
      const line = root.senders.get(sender) ?? root.senders.add(sender, new Line())
      line.push(item, cost)
      root.size++
      size++
    },

    peek() {
      return size === 0 ? undefined : roots.first().senders.first().first
    },

    shift() {
      if (size === 0) return undefined
      const root = roots.first()
      const { item, cost } = root.senders.first().shift()
      root.senders.endTurn(cost)
      roots.endTurn(cost)
      shrink(root, 1)
      return item
    },

    remove(test) {
      const removed: Item[] = []
      for (const root of [...roots.members()]) {
        const before = removed.length
        for (const line of root.senders.members()) removed.push(...line.remove(test))
        shrink(root, removed.length - before)
      }
      return removed
    },
  }
}

interface Root<Item> {
  senders: Rounds<number, Line<Item>>
  /** The number of waiting items of all its senders. */
  size: number
}

interface Waiting<Item> {
  item: Item
  cost: number
}

/** The waiting items of one sender. */
class Line<Item> {
  /** Places before the first waiting item are empty: an idle line must not keep what it was. */
  #items: (Waiting<Item> | undefined)[] = []
  /** The index of the first waiting item. */
  #next = 0

  get size(): number {
    return this.#items.length - this.#next
  }

  get first(): Item | undefined {
    return this.#items[this.#next]?.item
  }

  push(item: Item, cost: number): void {
    this.#items.push({ item, cost })
  }

  shift(): Waiting<Item> {
    const first = this.#items[this.#next] as Waiting<Item>
    this.#items[this.#next++] = undefined
    if (this.#next > COMPACT_FROM && this.#next * 2 > this.#items.length) this.#keep(this.#waiting())
    return first
  }

  remove(test: (item: Item) => boolean): Item[] {
    // Nothing is copied in the usual case: the log asks before each batch.
    if (!this.#items.some(waiting => waiting && test(waiting.item))) return []
    const waiting = this.#waiting()
    this.#keep(waiting.filter(({ item }) => !test(item)))
    return waiting.flatMap(({ item }) => (test(item) ? [item] : []))
  }

  #waiting(): Waiting<Item>[] {
    return this.#items.slice(this.#next) as Waiting<Item>[]
  }

  #keep(items: Waiting<Item>[]): void {
    this.#items = items
    this.#next = 0
  }
}
