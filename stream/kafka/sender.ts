import type { Message, Producer } from 'kafkajs'
import { retry } from '../../db/retry.ts'
import { inTime, type KafkaClient, type OnError, within } from './client.ts'

/**
 * Sends messages to Kafka until they are written: `acks=all`, one produce request in flight for the whole process.
 *
 * The producer is idempotent, so the broker recognizes a repeated request, and a late copy cannot slip in behind its
 * successor. So the content never changes between two tries: the broker would take new content for a copy of the old,
 * and acknowledge it without storing it.
 *
 * Successful answers of kafkajs 2.2.4 are checked. When a partition's leader moves between two tries to a broker that
 * has already answered, kafkajs leaves the partition out and resolves (`sendMessages.js`, `brokersWithoutResponse`;
 * seen 8 times in 9 changes of leaders). So the answer is checked for every partition, and missing messages are sent
 * again.
 *
 * A producer that gives up is replaced by a new one. Messages that it wrote without an answer are then in the log twice.
 * Storing handles that: a point is identified by its subject and time.
 */
export interface Sender {
  /** Resolves when every message is written by all replicas that are in sync; rejects only when the sender closes. */
  send(topic: string, messages: Messages): Promise<void>
  /** Waits a short time for messages that are being sent. */
  close(): Promise<void>
}

export type Messages = readonly (Message & { partition: number })[]

/** kafkajs tries for about half a minute by itself, and keeps its sequence numbers meanwhile. */
const RETRIES = 30
/** Messages that are not acknowledged within this time are sent again on a new connection. */
const CUT_AFTER_MS = 10_000
const ACKNOWLEDGE_WITHIN_MS = 8_000
/** Longer than all of its retries: beyond this kafkajs hangs. */
const GIVE_UP_AFTER_MS = 60_000
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000
/** Messages that are being sent when the process stops get this long. */
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
