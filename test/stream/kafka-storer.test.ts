import type { Consumer, EachBatchPayload } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { KafkaClient } from '../../stream/kafka/client.ts'
import { RecordWriter } from '../../stream/kafka/record.ts'
import { createStorer } from '../../stream/kafka/storer.ts'
import { nameTopics } from '../../stream/kafka/topics.ts'
import { NOTHING_STORED } from '../support/kafka.ts'
import { point } from './entries.ts'

const JOINED = { payload: { memberAssignment: { 'test.points': [0, 1] } } }

/** A consumer of kafkajs that the test controls. */
function createConsumer() {
  const listeners = new Map<string, (event: unknown) => void>()
  let eachBatch: (payload: EachBatchPayload) => Promise<void> = async () => {}
  const committed: { partition: number; offset: string }[] = []
  const consumer = {
    events: {
      CRASH: 'crash',
      GROUP_JOIN: 'join',
      HEARTBEAT: 'heartbeat',
      FETCH: 'fetch',
      REQUEST_TIMEOUT: 'request-timeout',
    },
    on: (event: string, listener: (event: unknown) => void) => void listeners.set(event, listener),
    connect: async () => {},
    subscribe: async () => {},
    async run(options: { eachBatch: typeof eachBatch }) {
      eachBatch = options.eachBatch
      listeners.get('join')?.(JOINED)
    },
    commitOffsets: vi.fn(async (offsets: { partition: number; offset: string }[]) => {
      committed.push(...offsets.map(({ partition, offset }) => ({ partition, offset })))
    }),
    disconnect: async () => {},
  }
  return {
    consumer,
    committed,
    join: () => listeners.get('join')?.(JOINED),
    beat: () => listeners.get('heartbeat')?.({}),
    hand(partition: number, offset: number) {
      const writer = new RecordWriter()
      writer.add(point(partition, offset), [])
      const messages = [{ offset: `${offset}`, value: writer.finish(), timestamp: '0', headers: {} }]
      return eachBatch({
        batch: { partition, messages, highWatermark: `${offset + 1}` },
        heartbeat: async () => {},
        resolveOffset: () => {},
        isRunning: () => true,
        commitOffsetsIfNecessary: async () => {},
      } as unknown as EachBatchPayload)
    },
  }
}

const refused = () => Object.assign(new Error('refused'), { type: 'NOT_COORDINATOR_FOR_GROUP' })

describe("A writer's offsets", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  async function start() {
    const fake = createConsumer()
    const unread = new Map<number, number>()
    const errors: unknown[] = []
    const storing = createStorer({
      createClient: () => ({
        kafka: { consumer: () => fake.consumer as unknown as Consumer } as unknown as KafkaClient['kafka'],
        cut: () => {},
        end: () => {},
      }),
      findUnread: async () => unread,
      onNote: () => {},
      retries: 0,
      ask: async () => new Map() as never,
      stored: NOTHING_STORED,
      behind: { again: 0, missing: 0 },
      topics: nameTopics('test'),
      bases: new Map(),
      sender: { send: async () => {}, close: async () => {} },
      handler: async () => new Map(),
      unstoredSince: new Map(),
      onError: error => void errors.push(error),
    })
    await vi.advanceTimersByTimeAsync(10)
    const end = async () => {
      const closing = storing.close()
      await vi.advanceTimersByTimeAsync(5_000)
      await closing
    }
    return { ...fake, unread, errors, end }
  }

  it('are committed twice a second, the last of each partition', async () => {
    const { hand, committed, end } = await start()
    await hand(0, 4)
    await hand(0, 5)
    await hand(1, 9)
    await vi.advanceTimersByTimeAsync(600)
    expect(committed).toEqual([
      { partition: 0, offset: '6' },
      { partition: 1, offset: '10' },
    ])
    await end()
  })

  it('are committed again when the broker has refused them, though nothing new comes', async () => {
    const { hand, consumer, committed, end } = await start()
    consumer.commitOffsets.mockRejectedValueOnce(refused())
    await hand(0, 4)
    await vi.advanceTimersByTimeAsync(600)
    expect(committed).toEqual([])
    await vi.advanceTimersByTimeAsync(600)
    expect(committed).toEqual([{ partition: 0, offset: '5' }])
    await end()
  })

  it('that were refused never come after later ones', async () => {
    const { hand, consumer, committed, end } = await start()
    let refuse = (_error: Error) => {}
    consumer.commitOffsets.mockImplementationOnce(() => new Promise((_, reject) => (refuse = reject)))
    await hand(0, 4)
    await vi.advanceTimersByTimeAsync(600)
    await hand(0, 7)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(committed).toEqual([])
    refuse(refused())
    await vi.advanceTimersByTimeAsync(600)
    expect(committed).toEqual([{ partition: 0, offset: '8' }])
    await end()
  })

  it('of before a join are not committed after it: they are read again', async () => {
    const { hand, consumer, committed, join, end } = await start()
    let refuse = (_error: Error) => {}
    consumer.commitOffsets.mockImplementationOnce(() => new Promise((_, reject) => (refuse = reject)))
    await hand(0, 4)
    await vi.advanceTimersByTimeAsync(600)
    join()
    refuse(refused())
    await vi.advanceTimersByTimeAsync(2_000)
    expect(committed).toEqual([])
    await end()
  })

  it('are those of a new consumer when a partition stands still, though its member is known', async () => {
    const { beat, unread, errors, end } = await start()
    const goOn = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        beat()
        await vi.advanceTimersByTimeAsync(1_000)
      }
    }
    unread.set(1, 7)
    await goOn(50)
    unread.set(1, 8)
    await goOn(40)
    expect(errors).toEqual([])
    await goOn(20)
    expect(errors.map(String)).toEqual(['Error: The consumer does not read partition 1, which has records'])
    await end()
  })
})
