import type { Client } from 'aedes'
import type { IngestMetrics } from '../metrics.ts'
import { endWith } from './aedes.ts'
import { MAX_UNREAD_BYTES } from './limits.ts'
import { ProtocolError } from './protocol.ts'

/** How long a client may take to read why it is not accepted. */
const LINGER_MS = 1_000

/** Towards one client: what is written to it, and how its connection is closed for what it did. */
export class ClientSocket {
  readonly client: Client
  readonly #metrics: IngestMetrics
  readonly #onError: (error: unknown, doing: string) => void
  #isClosing = false

  constructor(
    client: Client,
    { metrics, onError }: { metrics: IngestMetrics; onError: (error: unknown, doing: string) => void },
  ) {
    this.client = client
    this.#metrics = metrics
    this.#onError = onError
  }

  /** Whether it is closed for what its client did, or about to be. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Closes the connection for what its client did, after a CONNACK where the error has a return code. */
  closeFor(error: ProtocolError): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const { client } = this
    if (client.closed) return
    this.#metrics.closed(error.kind)
    if (error.cause !== undefined) this.#onError(error.cause, `MQTT: ${error.message}`)
    if (error.returnCode === undefined) {
      client.emit('error', error)
      return
    }
    endWith(client, Buffer.from([0x20, 2, 0, error.returnCode]))
    setTimeout(() => client.close(), LINGER_MS).unref()
  }

  /**
   * Writes to the client, once this turn of the event loop is over. A client that has not read what waits for it since
   * an earlier turn is disconnected, for that is memory.
   */
  write(bytes: Buffer): void {
    const { client } = this
    if (client.closed || this.#isClosing) return
    const { conn } = client
    // A message of 1,000 bad points is 1,000 messages to whoever listens: one write, not as many.
    if (conn.writableCorked === 0) {
      if (this.closeUnread()) return
      conn.cork()
      process.nextTick(uncork, conn)
    }
    conn.write(bytes)
  }

  /** Closes the connection of a client that leaves too much unread. Returns whether it is closed. */
  closeUnread(): boolean {
    const { conn } = this.client
    if (conn.writableCorked === 0 && conn.writableLength > MAX_UNREAD_BYTES)
      this.closeFor(new ProtocolError('limit', 'the client does not read'))
    return this.#isClosing
  }

  /** Writes what may be left out, unless this turn has written more than enough. */
  offer(bytes: Buffer): void {
    const { conn } = this.client
    if (conn.writableCorked === 0 || conn.writableLength <= MAX_UNREAD_BYTES) this.write(bytes)
  }
}

// Without a function of its own a connection is smaller.
const uncork = (conn: Client['conn']) => conn.uncork()
