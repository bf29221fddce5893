import type { Message, Producer } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import { inTime, type KafkaClient, type OnError, within } from './client.ts'

/**
 * Writes to Kafka until it is written: `acks=all`, one produce request in flight for the whole process.
 *
 * The producer is idempotent, so the broker knows a request that comes again, and a late copy cannot slip in behind
 * its successor. That is why what is sent is never altered between two tries: the broker would take the new content
 * for the copy of the old, and acknowledge what it does not store.
 *
 * kafkajs 2.2.4 is not believed when it says that all is well. When a partition's leader moves, between two tries,
 * to a broker that has answered already, it leaves the partition out and resolves (`sendMessages.js`,
 * `brokersWithoutResponse`; seen 8 times in 9 changes of leaders). So the answer is checked for every partition, and
 * what is missing is sent again.
 *
 * A producer that gives up is replaced by a new one. What it may have written without our knowing is then in the log
 * twice, which storing takes for what it is: a point is known by its subject and time.
 */
export interface Sender {
  /** Resolves when every message is written by all replicas that are in sync; rejects only when the sender closes. */
  send(topic: string, messages: Messages): Promise<void>
  /** Waits a little for what is being sent. */
  close(): Promise<void>
}

export type Messages = readonly (Message & { partition: number })[]

/** kafkajs tries for about half a minute by itself, and keeps its sequence meanwhile. */
const RETRIES = 30
/** What is not acknowledged by then is sent again on a new connection. */
const CUT_AFTER_MS = 10_000
const ACKNOWLEDGE_WITHIN_MS = 8_000
/** Longer than its retries: kafkajs hangs. */
const GIVE_UP_AFTER_MS = 60_000
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000
/** What is being sent when the process stops gets this long. */
const CLOSE_WITHIN_MS = 2_000

class IncompleteError extends Error {}

export function createSender(options: {
  createClient: (retries: number) => KafkaClient
  onError: OnError
}): Sender {
  const { onError } = options
  let connection: { client: KafkaClient; producer: Producer } | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let closed = false
  let abandon = () => {}

  async function connect(): Promise<NonNullable<typeof connection>> {
    if (connection) return connection
    const client = options.createClient(RETRIES)
    const producer = client.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: () => args => args.message.partition as number,
    })
    connection = { client, producer }
    await producer.connect()
    return connection
  }

  function drop(): void {
    const old = connection
    connection = undefined
    if (old) void within(CLOSE_WITHIN_MS, old.producer.disconnect()).then(() => old.client.end())
  }

  async function sendOnce(topic: string, messages: Messages): Promise<Set<number>> {
    const { client, producer } = await inTime(GIVE_UP_AFTER_MS, connect())
    const cutting = setInterval(() => client.cut('The broker does not answer'), CUT_AFTER_MS)
    try {
      const answers = await inTime(
        GIVE_UP_AFTER_MS,
        producer.send({ topic, messages: [...messages], acks: -1, timeout: ACKNOWLEDGE_WITHIN_MS }),
      )
      return new Set(answers.filter(answer => answer.errorCode === 0).map(answer => answer.partition))
    } finally {
      clearInterval(cutting)
    }
  }

  async function sendUntilWritten(topic: string, messages: Messages): Promise<void> {
    let missing = messages
    const sendMissing = async () => {
      if (closed) throw new Error('The log is closed')
      const written = await sendOnce(topic, missing)
      missing = missing.filter(message => !written.has(message.partition))
      if (missing.length > 0) throw new IncompleteError('Kafka left partitions out of its answer')
    }
    await retry(sendMissing, {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        if (closed) return false
        onError(error, 'writing to Kafka, trying again')
        if (!(error instanceof IncompleteError)) drop()
        return true
      },
    })
  }

  return {
    send(topic, messages) {
      const turn = queue.then(
        () =>
          new Promise<void>((resolve, reject) => {
            abandon = () => reject(new Error('The log is closed'))
            sendUntilWritten(topic, messages).then(resolve, reject)
          }),
      )
      queue = turn.catch(() => {})
      return turn
    },
    async close() {
      await within(CLOSE_WITHIN_MS, queue)
      closed = true
      abandon()
      const old = connection
      connection = undefined
      if (!old) return
      await within(CLOSE_WITHIN_MS, old.producer.disconnect())
      old.client.end()
    },
  }
}
