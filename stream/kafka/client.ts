import { connect, type Socket } from 'node:net'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { connectEncrypted, type KafkaSecurity, toSaslOptions } from './security.ts'

export type OnError = (error: unknown, doing: string) => void
/** Takes what is worth a line in the log and no failure. */
export type OnNote = (details: object, message: string) => void

/** One kafkajs instance whose connections Fieldline can cut. */
export interface KafkaClient {
  kafka: Kafka
  /**
   * Breaks every connection, or those to one broker, so that pending requests fail now. kafkajs connects again by
   * itself.
   */
  cut(reason: string, broker?: string): void
  /** Cuts, and allows no new connection, so that later attempts of kafkajs in the background fail. */
  end(): void
}

const CONNECT_WITHIN_MS = 3_000
const ANSWER_WITHIN_MS = 10_000
/** The same error is reported once in this time: a broker that is away would fill the log. */
const REPEAT_AFTER_MS = 30_000
const KEEP_ALIVE_MS = 60_000
export const ADMIN_RETRIES = 2
const DISCONNECT_WITHIN_MS = 2_000

/**
 * Every producer and consumer has a client of its own. kafkajs never closes a connection whose peer is silent, and
 * queues each retry behind the unsent requests, so that a frozen broker costs more memory with every retry. So the
 * sockets are kept here to be destroyed.
 */
export function createClient(options: {
  brokers: readonly string[]
  security: KafkaSecurity
  clientId: string
  /** How often kafkajs tries by itself before it gives up and Fieldline starts anew. */
  retries: number
  onError: OnError
}): KafkaClient {
  /** Each socket with its broker, in kafkajs' notation. */
  const sockets = new Map<Socket, string>()
  let ended = false
  const { tls, sasl } = options.security
  const open = (to: { host: string; port: number }, onConnect: () => void): Socket => {
    const socket = tls ? connectEncrypted(tls, to) : connect(to)
    socket.once(tls ? 'secureConnect' : 'connect', onConnect)
    return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS)
  }
  const kafka = new Kafka({
    clientId: options.clientId,
    brokers: [...options.brokers],
    ...(sasl && { sasl: toSaslOptions(sasl) }),
    connectionTimeout: CONNECT_WITHIN_MS,
    requestTimeout: ANSWER_WITHIN_MS,
    // Every value is set: kafkajs has other defaults when NODE_ENV is test.
    retry: {
      initialRetryTime: 100,
      maxRetryTime: 1_000,
      factor: 0.2,
      multiplier: 2,
      retries: options.retries,
    },
    logLevel: logLevel.WARN,
    logCreator: () => createLogger((error, doing) => ended || options.onError(error, doing)),
    socketFactory({ host, port, onConnect }) {
      const socket = open({ host, port }, onConnect)
      // kafkajs calls unref() on a dead socket with every attempt to close it, and Node adds a listener for each call.
      socket.setMaxListeners(0)
      sockets.set(socket, `${host}:${port}`)
      socket.once('close', () => sockets.delete(socket))
      if (ended) socket.destroy(new Error('The client has ended'))
      return socket
    },
  })
  // Destroyed with an error, because kafkajs ignores a socket that only closes.
  const cut = (reason: string, broker?: string) => {
    for (const [socket, to] of sockets)
      if (broker === undefined || to === broker) socket.destroy(new Error(reason))
  }
  return {
    kafka,
    cut,
    end() {
      ended = true
      cut('The client has ended')
    },
  }
}

/** Does one administrative task with a client of its own. Rejects when it takes longer than `ms`. */
export async function administer<T>(
  newClient: (retries: number) => KafkaClient,
  ms: number,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const client = newClient(ADMIN_RETRIES)
  const admin = client.kafka.admin()
  const connectAndWork = async () => {
    await admin.connect()
    return work(admin)
  }
  try {
    return await inTime(ms, connectAndWork())
  } finally {
    void within(DISCONNECT_WITHIN_MS, admin.disconnect()).then(client.end)
  }
}

/** Reports kafkajs' warnings and errors to `onError`, except those about moving partitions and about retries. */
function createLogger(onError: OnError) {
  const reportedAt = new Map<string, number>()
  return ({ namespace, log }: { namespace: string; log: { message: string; [key: string]: unknown } }) => {
    const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...details } = log
    if (/rebalanc|re-joining|resync group|Limiting retries/i.test(`${message} ${details.error}`)) return
    const key = `${namespace} ${message}`
    const now = performance.now()
    if (now - (reportedAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MS) return
    if (reportedAt.size > 1_000) reportedAt.clear()
    reportedAt.set(key, now)
    const reason = details.error ? `${message}: ${details.error}` : message
    onError(Object.assign(new Error(reason), details), `Kafka ${namespace}`)
  }
}

/**
 * Rejects when `work` takes longer. Every promise of kafkajs needs it: many of its paths call `disconnect()`, which
 * waits forever for the answer of a broker that ended meanwhile (`waitForPendingRequests`).
 */
export async function inTime<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Kafka did not answer in ${ms} ms`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Waits for `work` at most this long, whether it succeeds or not. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await inTime(ms, work).catch(() => {})
}
