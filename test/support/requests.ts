import { connect } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { Operation } from './openapi.ts'

/** A request as bytes, which nothing in between corrects. */
export interface RawRequest {
  method: string
  target: string
  headers: string[]
  body: Buffer
}

export interface RawAnswer {
  status: number
  head: string
  body: string
}

const bytesOf = (array: Uint8Array) => Buffer.from(array)
const nested = (depth: number, [open, close]: [string, string]) => open.repeat(depth) + close.repeat(depth)

/** The inputs that are most expensive for their length, for a parser, a validator or a regular expression. */
const COSTLY = [
  ...[nested(100_000, ['[', ']']), nested(60, ['[', ']']), `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ...[`[${'0,'.repeat(120_000)}0]`, `[${'[],'.repeat(60_000)}0]`, `[${'{},'.repeat(60_000)}0]`],
  ...[
    '"',
    '1e',
    '[',
    '{"a"',
    '\ufeff{}',
    '{"__proto__":{"a":1}}',
    '1e400',
    '"\\ud800"',
    '"\\u0000"',
    'null',
    '[]',
    '{}',
  ],
  `{${Array.from({ length: 15_000 }, (_, index) => `"k${index}":0`).join()}}`,
]
const LONG = [
  'a'.repeat(200_000),
  `${'a.'.repeat(60_000)}@`,
  `${' '.repeat(100_000)}x`,
  `${'0'.repeat(100_000)}x`,
  'é'.repeat(60_000),
]
const ENCODINGS = ['gzip', 'br', 'deflate', 'zstd', 'identity', 'gzip, gzip', 'x', '']
const MEDIA_TYPES = [
  ...[
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=utf-16',
    'APPLICATION/JSON',
  ],
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=x',
  ],
  ...['application/octet-stream', 'application/xml', 'application/json; charset="', 'json', '/', ''],
]

/** Everything that may be sent to an operation, each part of it sometimes valid and sometimes arbitrary. */
export function requestsTo({ method, path, spec }: Operation, token: string): fc.Arbitrary<RawRequest> {
  const taken = spec.requestBody?.content ?? {}
  const example = Object.values(taken)[0]?.example
  const fields = typeof example === 'object' && example !== null ? Object.keys(example) : []
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...LONG))
  const text = fc.oneof(
    { arbitrary: fc.constantFrom(...COSTLY), weight: 2 },
    { arbitrary: fc.json(), weight: 1 },
    {
      // The example with another value in one of its fields.
      arbitrary: fc
        .tuple(fc.constantFrom('x', ...fields), value)
        .map(([field, other]) => JSON.stringify({ ...(example as object), [field]: other })),
      weight: 3,
    },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('x', ...fields), fc.constantFrom(...COSTLY))
        .map(([field, costly]) => `{"${field}":${costly}}`),
      weight: 2,
    },
  )
  const plain = fc.oneof(
    { arbitrary: text.map(one => Buffer.from(one)), weight: 5 },
    { arbitrary: fc.uint8Array({ maxLength: 300 }).map(bytesOf), weight: 2 },
    {
      arbitrary: fc.constantFrom(
        Buffer.alloc(0),
        Buffer.alloc(5_000_000, ' '),
        Buffer.alloc(300_000, Buffer.from([255, 0, 27, 195, 40, 123])),
      ),
      weight: 1,
    },
  )
  const body = fc
    .tuple(plain, fc.constantFrom(...Array(8).fill('plain'), 'gzip', 'cut', 'deflate'))
    .map(([bytes, packed]) => {
      if (packed === 'gzip') return gzipSync(bytes)
      if (packed === 'cut') return gzipSync(bytes).subarray(0, 30)
      return packed === 'deflate' ? deflateSync(bytes) : bytes
    })
  const segment = fc.oneof(
    fc.constantFrom(
      'x',
      '0190aaaa-0000-7000-8000-000000000000',
      '%00',
      '%ff',
      '%',
      '..',
      '%2e%2e',
      '%ED%A0%80',
      'a'.repeat(300),
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).map(encode),
  )
  const names = (spec.parameters ?? []).filter(one => one.in === 'query').map(one => one.name)
  const parameter = fc
    .tuple(
      fc.constantFrom('unknown', 'filter[a]', '__proto__', 'a[b][c]', ...names),
      fc.oneof(segment, fc.double().map(String), fc.constant('a'.repeat(3_000))),
    )
    .map(([name, given]) => `${name}=${given}`)
  const header = fc.constantFrom(
    ...[
      'Idempotency-Key: 1',
      `Idempotency-Key: ${'k'.repeat(256)}`,
      'Expect: 100-continue',
      'Accept: x/y',
      'Range: bytes=0-1',
    ],
    ...[
      'If-None-Match: *',
      'Origin: https://x.example',
      'X-Forwarded-For: \u00e9',
      'Transfer-Encoding: gzip',
      'Upgrade: websocket',
    ],
  )
  const credential = fc.constantFrom(
    ...Array(30).fill(`Authorization: Bearer ${token}`),
    ...['Authorization: Bearer x.y.z', 'Authorization: Basic eDp5', 'Authorization: Bearer fld_x', 'A: b'],
  )
  return fc
    .record({
      segments: fc.array(segment, { minLength: 3, maxLength: 3 }),
      query: fc.array(parameter, { maxLength: 3 }),
      type: fc.oneof(
        { arbitrary: fc.constantFrom('application/json', ...Object.keys(taken)), weight: 6 },
        { arbitrary: fc.constantFrom(...MEDIA_TYPES), weight: 1 },
      ),
      encoding: fc.oneof(
        { arbitrary: fc.constant(null), weight: 5 },
        { arbitrary: fc.constantFrom(...ENCODINGS), weight: 1 },
      ),
      more: fc.array(header, { maxLength: 1 }),
      credential,
      body: fc.option(body, { freq: method === 'get' ? 2 : 12 }),
    })
    .map(({ segments, query, type, encoding, more, credential: authorization, body: bytes }) => {
      let at = 0
      const address = path.replaceAll(/\{\w+\}/g, () => segments[at++ % segments.length] as string)
      const headers = [authorization, ...more, 'Connection: close']
      if (bytes) headers.push(`Content-Type: ${type}`, `Content-Length: ${bytes.length}`)
      if (encoding !== null) headers.push(`Content-Encoding: ${encoding}`)
      const target = query.length > 0 ? `${address}?${query.join('&')}` : address
      return { method: method.toUpperCase(), target, headers, body: bytes ?? Buffer.alloc(0) }
    })
}

function encode(text: string): string {
  return [...Buffer.from(text.isWellFormed() ? text : 'x')]
    .map(byte => `%${byte.toString(16).padStart(2, '0')}`)
    .join('')
}

/** Sends bytes and reads until the connection ends; null if it ended without an answer. */
export async function sendBytes(url: string, bytes: Buffer, halfClose = false): Promise<RawAnswer | null> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  const chunks: Buffer[] = []
  const closed = new Promise<void>(resolve => {
    socket.on('data', chunk => chunks.push(chunk))
    for (const event of ['end', 'error', 'close'] as const) socket.on(event, () => resolve())
  })
  socket.write(bytes)
  if (halfClose) socket.end()
  await closed
  socket.destroy()
  const text = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const head = text.slice(0, end)
  return { status: Number(head.split(' ')[1]), head, body: text.slice(end + 4) }
}

export const toBytes = ({ method, target, headers, body }: RawRequest) =>
  Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n`),
    body,
  ])
