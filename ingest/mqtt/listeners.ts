import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { timeOfDay } from '../../db/clock.ts'
import { TCP_KEEPALIVE_MS } from './limits.ts'

export interface Listener {
  readonly port: number
  /** Accepts no more connections; resolves when the last one is closed. */
  close(): Promise<void>
}

/** Listens for TCP connections, and hands them over unread. */
export async function listen(options: {
  host: string
  port: number
  onSocket: (socket: Socket) => void
  onError: (error: unknown, doing: string) => void
}): Promise<Listener> {
  const server = createServer(
    {
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEPALIVE_MS,
      pauseOnConnect: true,
    },
    options.onSocket,
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // The length of the kernel's queue: a burst of connections must not be answered with resets.
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve)
  })
  server.on('error', error => options.onError(error, 'MQTT listener'))
  return {
    get port() {
      return (server.address() as { port: number }).port
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

export interface TlsFiles {
  certFile: string
  keyFile: string
}

export interface Tls {
  /** The server's side of TLS over a connection; the handshake runs when it is read. */
  secure(socket: Socket): TLSSocket
  /** When the certificate ends, in milliseconds since 1970. */
  readonly endsAt: number
  close(): void
}

const LOOK_EVERY_MS = 1_000

/**
 * TLS with a certificate (chain) and key from files, which are read again when they change. Open connections keep the
 * old ones. Files that are unusable, or do not match each other yet, are tried again at the next change. Throws if they
 * are unusable at the start.
 */
export function openTls(files: TlsFiles, onError: (error: unknown, doing: string) => void): Tls {
  let seen = stampOf(files)
  let context = readContext(files)
  let endsAt = readEnd(files, onError)
  // Polled, because a certificate may be replaced through a renamed directory (Kubernetes), which file watchers miss.
  const timer = setInterval(() => {
    try {
      const stamp = stampOf(files)
      if (stamp === seen) return
      seen = stamp
      context = readContext(files)
      endsAt = readEnd(files, onError)
    } catch (error) {
      onError(error, 'reading the TLS certificate again, the old one stays')
    }
  }, LOOK_EVERY_MS)
  return {
    get endsAt() {
      return endsAt
    },
    // A certificate is looked up by its fingerprint and not by who has signed it; TLS proves that the client has its key.
    secure: socket =>
      new TLSSocket(socket, {
        isServer: true,
        secureContext: context,
        requestCert: true,
        rejectUnauthorized: false,
      }),
    close: () => clearInterval(timer),
  }
}

function readContext({ certFile, keyFile }: TlsFiles): SecureContext {
  return createSecureContext({
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion: 'TLSv1.2',
    // Where certificates of clients are asked for, OpenSSL resumes no session without a name for them.
    sessionIdContext: 'fieldline',
  })
}

/** Reports a certificate that has ended: devices that verify it do not connect. */
function readEnd({ certFile }: TlsFiles, onError: (error: unknown, doing: string) => void): number {
  const endsAt = Date.parse(new X509Certificate(readFileSync(certFile)).validTo)
  if (endsAt < timeOfDay())
    onError(
      new Error(`The certificate in MQTT_TLS_CERT has ended on ${new Date(endsAt).toISOString()}`),
      'MQTT over TLS',
    )
  return endsAt
}

/** Changes with the files. A missing file is a state as well, so that it is reported once. */
const stampOf = ({ certFile, keyFile }: TlsFiles) => [certFile, keyFile].map(stampOfFile).join(' ')

function stampOfFile(file: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    return `${mtimeMs} ${size} ${ino}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable'
  }
}
