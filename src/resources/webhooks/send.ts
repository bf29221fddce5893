import { createHmac } from 'node:crypto'
import type { Agent } from 'undici'
import { timeOfDay } from '../../../db/clock.ts'
import type { Attempt } from '../../../db/schema/webhooks.ts'
import { isStorable } from '../../../db/text.ts'
import {
  AddressNotPublic,
  createPublicLookup,
  isPublicAddress,
  literalAddress,
  type Resolve,
} from '../../../fair/public-addresses.ts'

/** A message for an endpoint. */
export interface Message {
  url: string
  messageId: string
  event: string
  payload: string
  secrets: readonly string[]
}

/** The result of an attempt. `retryAfterMs` comes from the receiver. */
export interface Sent extends Attempt {
  retryAfterMs: number | null
  /** Whether further attempts would fail too. */
  final: boolean
}

export interface Sender {
  /** Sends a message once. Never rejects: the result contains the error. */
  send(message: Message, signal?: AbortSignal): Promise<Sent>
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000
const TIMEOUT_MS = 15_000
/** The bytes of an answer that are read and stored; the rest is not fetched. */
const KEPT_BYTES = 1024

/**
 * Sends messages by the Standard Webhooks specification. Redirects are not followed. Unless private addresses are
 * allowed, no connection to them is opened, even if a name changes its address between check and connection.
 */
export function createSender(options: {
  allowPrivate: boolean
  timeoutMs?: number
  resolve?: Resolve
}): Sender {
  const { allowPrivate, timeoutMs = TIMEOUT_MS } = options
  let agent: Agent | undefined
  /** Loaded with the first message, because most servers send none. */
  async function open() {
    const { Agent, request } = await import('undici')
    agent ??= new Agent({
      connect: {
        timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
        ...(allowPrivate ? {} : { lookup: createPublicLookup(options.resolve) }),
      },
      keepAliveTimeout: 1_000,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      pipelining: 1,
      maxHeaderSize: 16 * 1024,
    })
    return { agent, request }
  }

  async function post(message: Message, signal: AbortSignal) {
    const url = new URL(message.url)
    const literal = literalAddress(url)
    if (literal && !allowPrivate && !isPublicAddress(literal)) throw new AddressNotPublic()
    const { agent, request } = await open()
    return request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: signedHeaders(message, Math.floor(timeOfDay() / 1000)),
      body: message.payload,
      signal,
    })
  }

  return {
    async send(message, signal) {
      const at = new Date(timeOfDay()).toISOString()
      const started = performance.now()
      const timeout = AbortSignal.timeout(timeoutMs)
      const end = (outcome: Partial<Sent>): Sent => ({
        at,
        statusCode: null,
        durationMs: Math.round(performance.now() - started),
        response: null,
        error: null,
        retryAfterMs: null,
        final: false,
        ...outcome,
      })
      try {
        const { statusCode, headers, body } = await post(
          message,
          signal ? AbortSignal.any([signal, timeout]) : timeout,
        )
        // With the status the result is known, even if the rest of the answer does not come.
        const response = await readBeginning(body).catch(() => null)
        const retryAfterMs = readRetryAfter(headers['retry-after'])
        const error = statusCode >= 200 && statusCode < 300 ? null : explainStatus(statusCode)
        return end({ statusCode, response, error, retryAfterMs, final: statusCode === 410 })
      } catch (error) {
        if (timeout.aborted) return end({ error: `No answer within ${timeoutMs / 1000} s` })
        return end(explain(error))
      }
    },
    close: async () => await agent?.destroy(),
  }
}

/**
 * https://github.com/standard-webhooks/standard-webhooks: one signature for each secret, so that secrets can be rotated.
 */
function signedHeaders({ messageId, event, payload, secrets }: Message, timestamp: number) {
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
      .update(`${messageId}.${timestamp}.${payload}`)
      .digest('base64')
  return {
    'content-type': 'application/json',
    'user-agent': 'Fieldline-Webhooks',
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(secret => `v1,${sign(secret)}`).join(' '),
    'webhook-event': event,
  }
}

async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    // Leaving the loop closes the connection.
    if (size >= KEPT_BYTES) break
  }
  const text = Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8')
  return isStorable(text) ? text : text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** Reads HTTP's seconds or date. Returns milliseconds from now. */
function readRetryAfter(header: string | string[] | undefined): number | null {
  const text = [header].flat()[0]?.trim()
  if (!text) return null
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - timeOfDay()
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}

function explainStatus(statusCode: number): string {
  if (statusCode >= 300 && statusCode < 400) return 'The receiver redirects, which is not followed'
  if (statusCode === 410) return 'The receiver is gone; the webhook is disabled'
  return `The receiver answered ${statusCode}`
}

function explain(error: unknown): Pick<Sent, 'error' | 'final'> {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof AddressNotPublic) return { error: current.message, final: true }
    if (current instanceof AggregateError && current.errors[0]) return explain(current.errors[0])
  }
  return { error: describeFailure(error), final: false }
}

/** Omits the addresses in errors of Node and undici, which would show to what a name of the internal network resolves. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `No connection within ${CONNECT_TIMEOUT_MS / 1000} s`
  // An error of `getaddrinfo` contains only the name, which the webhook's author knows.
  return syscall && syscall !== 'getaddrinfo' ? `${syscall} ${code}` : error.message || error.name
}
