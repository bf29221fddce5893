import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { newId } from '../../../db/client.ts'
import { FAILURES, type FailureCode } from '../error-codes.ts'
import { ANSWER_HEADERS } from './answer-headers.ts'
import { failureText } from './errors.ts'
import { MAX_URL } from './methods.ts'
import { drain } from './unread-bodies.ts'

/** The time in which a client can read its failure. */
const LINGER_MS = 2_000

type Failure = [code: FailureCode, message: string]
const URL_TOO_LONG: Failure = ['url-too-long', 'The address is too long.']

const PARSER_FAILURES: { [code: string]: Failure } = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers are larger than what is accepted here.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    'too-large',
    'The extensions of a chunk are larger than what is accepted here.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['not-in-time', 'The request did not arrive in time: send it again.'],
}

/** Answers requests that Node rejects before they reach Fastify: invalid HTTP, too large, or incomplete in time. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) {
    socket.destroy()
    return
  }
  // The bytes after the invalid ones are invalid again, and discarded.
  if (socket.writableEnded) return
  if (isAnswering(socket)) {
    socket.destroy()
    return
  }
  const long = error.code === 'HPE_HEADER_OVERFLOW' && isLongUrl((error as { rawPacket?: unknown }).rawPacket)
  const [code, message] = (long ? URL_TOO_LONG : PARSER_FAILURES[error.code ?? '']) ?? [
    'malformed-request',
    'This is not a valid HTTP request.',
  ]
  closeWithFailure(socket, code, message)
}

/** Whether an answer is under way; a second one cannot follow it. */
export function isAnswering(socket: Socket): boolean {
  return (socket as { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent ?? false
}

/** Node's own answer to any `Expect` but 100-continue has no body. */
export async function answerExpectation(request: IncomingMessage, response: ServerResponse): Promise<void> {
  await drain(request)
  const body = failureText('expectation-failed', 'This expectation is not met here: leave it out.', newId())
  response
    .writeHead(417, {
      ...ANSWER_HEADERS,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    })
    .end(body)
}

/**
 * CONNECT asks for the tunnel of a proxy. Node emits no `request` for it, and closes its socket if
 * nobody listens for it.
 */
export function answerConnect(_request: IncomingMessage, socket: Duplex): void {
  if (isAnswering(socket as Socket)) socket.destroy()
  else
    closeWithFailure(socket, 'wrong-method', 'CONNECT is not allowed here.', [
      'Allow: GET, POST, PUT, PATCH, DELETE',
    ])
}

/** Whether the address, as far as its bytes have arrived, exceeds the bound of the headers. */
function isLongUrl(packet: unknown): boolean {
  if (!Buffer.isBuffer(packet) || !/^[A-Z]+ \//.test(packet.toString('latin1', 0, 16))) return false
  const end = packet.indexOf('\r\n')
  return end === -1 || end > MAX_URL
}

/** Writes a failure to a connection that no Fastify reply owns, and closes it. */
export function closeWithFailure(
  socket: Duplex,
  code: FailureCode,
  message: string,
  headers: string[] = [],
): void {
  const body = failureText(code, message, newId())
  const { status } = FAILURES[code]
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...Object.entries(ANSWER_HEADERS).map(([name, value]) => `${name}: ${value}`),
    ...headers,
  ]
  socket.on('error', () => {})
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
