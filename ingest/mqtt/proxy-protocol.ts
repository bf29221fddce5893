import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { CONNECT_TIMEOUT_MS, MAX_AHEAD_BYTES } from './limits.ts'

/**
 * The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt). A balancer that passes on TCP writes a header before
 * the bytes of its client, which names the client's address. Without it all devices have the balancer's address, and one
 * sender of wrong passwords uses up the places of all others.
 *
 * The header is expected of trusted proxies alone, and of each of their connections: if it were optional, a client behind a
 * proxy that writes none could write one itself.
 */
export interface ProxyHeaders {
  /**
   * Reads the header, and calls `onClient` with the client's address, or with null where the proxy speaks for itself. The
   * bytes behind the header can be read from the socket after a call of `taken`; nothing is read ahead before it. Closes the
   * socket if there is no whole header in time.
   */
  read(socket: Socket, onClient: (address: string | null, taken: () => void) => void): void
}

/** [2.1] of the protocol: the longest line of version 1, with its end. */
const MAX_LINE_BYTES = 107
const LINE = /^PROXY (?:UNKNOWN(?: .*)?|TCP[46] (\S+) \S+ \d{1,5} \d{1,5})$/
const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const FIXED_BYTES = 16
/** Addresses take 36 bytes; the rest are notes of the balancer, such as the name of a certificate. */
const MAX_NOTED_BYTES = 2_048
const [PROXY, LOCAL] = [0x21, 0x20]
/** Bytes of an address, by the family and protocol of version 2; others, such as UNIX sockets, name none. */
const ADDRESS_BYTES = new Map([
  [0x11, 4],
  [0x21, 16],
])

interface Header {
  length: number
  address: string | null
}

export function createProxyHeaders(): ProxyHeaders {
  /** Bytes that came with headers and wait for the turn of their connection: strangers sent them. */
  let aheadBytes = 0

  return {
    read(socket, onClient) {
      let bytes: Buffer = Buffer.alloc(0)
      let ahead = 0
      const take = () => {
        aheadBytes -= ahead
        ahead = 0
        setReading(socket, true)
      }
      const late = setTimeout(() => socket.destroy(), CONNECT_TIMEOUT_MS)
      socket.on('error', ignore)
      socket.once('close', () => {
        clearTimeout(late)
        take()
      })
      const look = () => {
        const chunk: Buffer | null = socket.read()
        if (chunk === null) return
        bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
        const header = readHeader(bytes)
        if (header === 'incomplete') return
        socket.off('readable', look)
        clearTimeout(late)
        const rest = header && bytes.subarray(header.length)
        if (!rest || aheadBytes + rest.length > MAX_AHEAD_BYTES) return void socket.destroy()
        setReading(socket, false)
        if (rest.length > 0) socket.unshift(rest)
        ahead = rest.length
        aheadBytes += ahead
        // Node forgets that somebody listened for `readable` a tick later; a listener before that is told nothing.
        process.nextTick(() => {
          if (!socket.destroyed) onClient(header.address, take)
        })
      }
      socket.on('readable', look)
    },
  }
}

/** Reads a header at the beginning of the bytes; null if they begin with something else. */
export function readHeader(bytes: Buffer): Header | 'incomplete' | null {
  const isSigned = SIGNATURE.subarray(0, bytes.length).equals(bytes.subarray(0, SIGNATURE.length))
  return isSigned ? readBinary(bytes) : readLine(bytes)
}

function readLine(bytes: Buffer): Header | 'incomplete' | null {
  const end = bytes.subarray(0, MAX_LINE_BYTES).indexOf('\r\n')
  const text = bytes.toString('latin1', 0, end < 0 ? MAX_LINE_BYTES : end)
  if (end < 0)
    return bytes.length < MAX_LINE_BYTES && 'PROXY '.startsWith(text.slice(0, 6)) ? 'incomplete' : null
  const match = LINE.exec(text)
  const [, address] = match ?? []
  if (!match || (address !== undefined && !ipaddr.isValid(address))) return null
  return { length: end + 2, address: address ?? null }
}

function readBinary(bytes: Buffer): Header | 'incomplete' | null {
  if (bytes.length < FIXED_BYTES) return 'incomplete'
  const [command, family, noted] = [bytes.readUInt8(12), bytes.readUInt8(13), bytes.readUInt16BE(14)]
  if ((command !== PROXY && command !== LOCAL) || noted > MAX_NOTED_BYTES) return null
  const length = FIXED_BYTES + noted
  if (bytes.length < length) return 'incomplete'
  const size = command === PROXY ? ADDRESS_BYTES.get(family) : undefined
  if (size === undefined) return { length, address: null }
  if (noted < size) return null
  return {
    length,
    address: ipaddr.fromByteArray([...bytes.subarray(FIXED_BYTES, FIXED_BYTES + size)]).toString(),
  }
}

/**
 * Stops reading from the network, or begins again. Node has no public way for a socket that was read: it would read ahead up to
 * 128 KiB of each connection that waits for its turn. `test/ingest/proxy-protocol.test.ts` tries this one.
 */
function setReading(socket: Socket, isReading: boolean): void {
  const { _handle: handle } = socket as unknown as {
    _handle: { reading: boolean; readStart(): number; readStop(): number } | null
  }
  if (!handle || handle.reading === isReading) return
  handle.reading = isReading
  if (isReading) handle.readStart()
  else handle.readStop()
}

function ignore(): void {}
