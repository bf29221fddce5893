import type { Consumer } from 'kafkajs'
import { inTime, type OnError } from './client.ts'
import { isRebalancing } from './rebalancing.ts'

const COMMIT_EVERY_MS = 500
/** Longer than the retries of kafkajs. */
const COMMIT_WITHIN_MS = 20_000

/** The stored offsets of a member, which are committed twice a second. */
export interface Commits {
  /** Notes that a partition is stored up to this offset, in Kafka's own numbering. */
  add(partition: number, offset: string): void
  /** Takes the offsets that are not committed yet. */
  take(): { partition: number; offset: string }[]
  /** Forgets them: the partitions may have new owners, who read the records again. */
  forget(): void
  commit(consumer: Consumer): Promise<void>
  close(): void
}

export function createCommits(options: {
  topic: string
  consumer: () => Consumer | undefined
  onError: OnError
}): Commits {
  let stored = new Map<number, string>()
  let joins = 0
  let committing = false

  function take() {
    const partitions = [...stored].map(([partition, offset]) => ({ partition, offset }))
    stored = new Map()
    return partitions
  }

  async function commit(consumer: Consumer): Promise<void> {
    const partitions = take()
    if (partitions.length === 0) return
    const joined = joins
    try {
      const offsets = partitions.map(offset => ({ topic: options.topic, ...offset }))
      await inTime(COMMIT_WITHIN_MS, consumer.commitOffsets(offsets))
    } catch (error) {
      // A broker that has just started rejects offsets for a moment, and without new records nothing would commit them
      // later. After a join they are read again.
      for (const { partition, offset } of partitions)
        if (joined === joins && !stored.has(partition)) stored.set(partition, offset)
      throw error
    }
  }

  const timer = setInterval(() => {
    const consumer = options.consumer()
    // Only one commit at a time: an offset that is tried again must not follow a later one.
    if (!consumer || committing) return
    committing = true
    commit(consumer)
      .catch(error => isRebalancing(error) || options.onError(error, 'committing offsets'))
      .finally(() => {
        committing = false
      })
  }, COMMIT_EVERY_MS)

  return {
    add: (partition, offset) => void stored.set(partition, offset),
    take,
    forget() {
      joins++
      stored.clear()
    },
    commit,
    close: () => clearInterval(timer),
  }
}
