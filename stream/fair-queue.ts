import { rootOf } from '../db/roots.ts'

/** Of a line, how much has gone before its memory is given back. */
const COMPACT_FROM = 1_000

/** Whose turn it is: the roots of organizations take turns, and the senders of one among themselves. */
export interface Owner {
  organizationId: string
  sender: number
}

/** What waits of one sender, from `next` on. */
interface Line<Item> {
  items: Item[]
  next: number
}

/**
 * A queue in which whoever has much waiting makes nobody else wait for it: the roots of organizations have one turn after the
 * other (db/roots.ts), and within each every sender. What is of one sender keeps its order.
 */
export interface FairQueue<Item> {
  readonly size: number
  push(item: Item, owner: Owner): void
  /** The item whose turn it is, which stays. */
  peek(): Item | undefined
  /** Takes that item out: the next one is of another root, if there is one. */
  shift(): Item | undefined
  /** Takes out what the test is true of, and returns it. */
  remove(test: (item: Item) => boolean): Item[]
}

export function createFairQueue<Item>(): FairQueue<Item> {
  /** The one whose turn it is comes first, also among the senders. */
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
