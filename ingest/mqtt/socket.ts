import type { Client } from 'aedes'
import type { IngestMetrics } from '../metrics.ts'
import { endWith } from './aedes.ts'
import { MAX_UNREAD_BYTES } from './limits.ts'
import { ProtocolError } from './protocol.ts'
import { farewell, type Terms } from './terms.ts'

/** How long a client has to read the reason why it is not accepted. */
const LINGER_MS = 1_000

/** The outgoing side of one client: writes to it, and closes its connection after a violation. */
export class ClientSocket {
  readonly client: Client
  /** What its client asks for in version 5; null before, and until its CONNECT is read. */
  terms: Terms | null = null
  /** The number of the opening of its session that it was. */
  opening = 0
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

  /** Whether the connection is closed because of its client, or about to be. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Closes the connection because of the error, after a CONNACK or DISCONNECT if there is one for the error. */
  closeFor(error: ProtocolError): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const { client } = this
    if (client.closed) return
    this.#metrics.closed(error.kind)
    if (error.cause !== undefined) this.#onError(error.cause, `MQTT: ${error.message}`)
    const answer = this.#lastAnswer(error)
    if (answer) this.#endWith(answer)
    else client.emit('error', error)
  }

  /** Closes the connection for a reason of the server's own, which version 5 tells the client. */
  leave(reasonCode: number, reason: string): void {
    const { client, terms } = this
    if (this.#isClosing) return
    // A client that has not been answered yet is told nothing: its CONNECT may still be read.
    if (!terms || !client.connected) {
      client.close()
      return
    }
    this.#isClosing = true
    if (!client.closed) this.#endWith(farewell('disconnect', reasonCode, reason, terms))
  }

  #lastAnswer({ returnCode, reasonCode, message }: ProtocolError): Buffer | null {
    const { client, terms } = this
    if (terms) return farewell(client.connected ? 'disconnect' : 'connack', reasonCode, message, terms)
    return returnCode === undefined ? null : Buffer.from([0x20, 2, 0, returnCode])
  }

  #endWith(answer: Buffer): void {
    const { client } = this
    endWith(client, answer)
    setTimeout(() => client.close(), LINGER_MS).unref()
  }

  /**
   * Writes to the client at the end of this turn of the event loop. A client that has left too many bytes of earlier
   * turns unread is disconnected, because they take memory.
   */
  write(bytes: Buffer): void {
    const { client } = this
    if (client.closed || this.#isClosing) return
    const { conn } = client
    // A message of 1,000 invalid points becomes 1,000 messages to a subscriber: they share one write.
    if (conn.writableCorked === 0) {
      if (this.closeUnread()) return
      conn.cork()
      process.nextTick(uncork, conn)
    }
    conn.write(bytes)
  }

  /** Closes the connection of a client that leaves too many bytes unread. Returns whether it is closed. */
  closeUnread(): boolean {
    const { conn } = this.client
    if (conn.writableCorked === 0 && conn.writableLength > MAX_UNREAD_BYTES)
      this.closeFor(new ProtocolError('limit', 'the client does not read'))
    return this.#isClosing
  }

  /** Writes bytes that may be skipped, unless this turn has written too many already. */
  offer(bytes: Buffer): void {
    const { conn } = this.client
    if (conn.writableCorked === 0 || conn.writableLength <= MAX_UNREAD_BYTES) this.write(bytes)
  }
}

// A shared function: a connection is smaller without a function of its own.
const uncork = (conn: Client['conn']) => conn.uncork()
