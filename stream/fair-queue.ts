import { rootOf } from '../db/roots.ts'

/** A line gives memory back once this many of its items have been taken. */
const COMPACT_FROM = 1_000

/** Decides the turn: the roots of organizations take turns, and within a root the senders take turns. */
export interface Owner {
  organizationId: string
  sender: number
}

/** The waiting items of one sender, from index `next` on. */
interface Line<Item> {
  items: Item[]
  next: number
}

/**
 * A queue in which a sender with many waiting items delays nobody else. The roots of organizations take turns
 * (db/roots.ts), and within a root the senders take turns. The items of one sender keep their order.
 */
export interface FairQueue<Item> {
  readonly size: number
  push(item: Item, owner: Owner): void
  /** Returns the item whose turn it is, and leaves it in the queue. */
  peek(): Item | undefined
  /** Removes and returns that item. The next item is of another root, if another root has one. */
  shift(): Item | undefined
  /** Removes and returns the items that pass the test. */
  remove(test: (item: Item) => boolean): Item[]
}

export function createFairQueue<Item>(): FairQueue<Item> {
  /** The root whose turn it is comes first, and so does the sender within it. */
  const roots = new Map<string, Map<number, Line<Item>>>()
  let size = 0

  function first() {
    for (const [root, senders] of roots) {
      for (const [sender, line] of senders) return { root, senders, sender, line }
    }
    return undefined
  }

  return {
    get size() {
      return size
    },

    push(item, { organizationId, sender }) {
      size++
      const root = rootOf(organizationId)
      const senders = roots.get(root) ?? new Map<number, Line<Item>>()
      if (senders.size === 0) roots.set(root, senders)
      const line = senders.get(sender)
      if (line) line.items.push(item)
      else senders.set(sender, { items: [item], next: 0 })
    },

    peek() {
      const line = first()?.line
      return line?.items[line.next]
    },

    shift() {
      const served = first()
      if (!served) return undefined
      const { root, senders, sender, line } = served
      const item = line.items[line.next++]
      size--
      roots.delete(root)
      senders.delete(sender)
      if (line.next > COMPACT_FROM && line.next * 2 > line.items.length) {
        line.items = line.items.slice(line.next)
        line.next = 0
      }
      if (line.next < line.items.length) senders.set(sender, line)
      if (senders.size > 0) roots.set(root, senders)
      return item
    },

    remove(test) {
      const removed: Item[] = []
      for (const [root, senders] of roots) {
        for (const [sender, line] of senders) {
          if (!line.items.some((item, index) => index >= line.next && test(item))) continue
          const waiting = line.items.slice(line.next)
          removed.push(...waiting.filter(test))
          line.items = waiting.filter(item => !test(item))
          line.next = 0
          if (line.items.length === 0) senders.delete(sender)
        }
        if (senders.size === 0) roots.delete(root)
      }
      size -= removed.length
      return removed
    },
  }
}
