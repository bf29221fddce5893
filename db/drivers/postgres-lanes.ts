import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { createSemaphore, type Semaphore } from '../../fair/semaphore.ts'
import { currentDemand, type Lane } from '../demand.ts'
import { isAway } from '../errors.ts'
import type { Hosts } from './postgres-hosts.ts'

/**
 * The connections to PostgreSQL, by what they are for, so that what is slow there holds up only its like: 16 slow searches
 * of one organization once made everybody's sign-in 503. A statement ends by itself (`statement_timeout`, since one that
 * the process abandoned goes on in the database), and when its caller has gone.
 */
export interface LaneLimits {
  connections: number
  /** Connections of one organization. */
  share: number
  /** What a statement may take, and what a transaction may stand idle. */
  statementMs: number
  idleMs: number
}

/** Two cores bring no more out of more; of the requests no statement takes over 1 s unless somebody means it to. */
const LIMITS: Record<Lane | 'writing', LaneLimits> = {
  // One row by its key.
  signIn: { connections: 4, share: 4, statementMs: 5_000, idleMs: 30_000 },
  requests: { connections: 12, share: 6, statementMs: 15_000, idleMs: 30_000 },
  reading: { connections: 8, share: 3, statementMs: 15_000, idleMs: 30_000 },
  // Removing an organization, or leaving a partition behind a slow reader.
  background: { connections: 4, share: 2, statementMs: 10 * 60_000, idleMs: 60_000 },
  // More than two bring nothing on two cores, and partitions are stored side by side.
  writing: { connections: 4, share: 4, statementMs: 55_000, idleMs: 30_000 },
}
/** A server that is frozen or cut off says nothing, not even that a statement took too long. */
const SILENCE_MS = 5_000
const CONNECT_TIMEOUT_MS = 5_000
/** A statement of a process that was killed ends soon. */
const DEAD_CLIENT_MS = 2_000
/**
 * Either end notices within 15 s that the other is gone without a word, with its machine or the network. Node asks the kernel
 * for ten probes, one a second.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 }
export const KEEP_ALIVE_OPTIONS =
  '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3'
const MAX_WAITING = 64
const WAIT_MS = 10_000
const CANCEL_WITHIN_MS = 5_000
/** https://www.postgresql.org/docs/current/protocol-message-formats.html, CancelRequest. */
const CANCEL_REQUEST = 80_877_102

export interface Connections {
  /** Lends `work` a connection of the lane that the flow is in, in its owner's turn. */
  lend<T>(lane: Lane | 'writing', work: (client: pg.PoolClient) => Promise<T>, owner?: string): Promise<T>
  /** What a transaction of the lane begins with, in the same round trip; a pooler hands no setting of a session on. */
  settings(lane: Lane | 'writing'): string
  /** Breaks every connection, idle or not: what waits for an answer fails now, and what comes next connects anew. */
  cut(reason: string): void
  close(): Promise<void>
}

export function openConnections(options: {
  hosts: Hosts
  /** Behind a pooler in transaction mode, which rejects or mixes up settings of a session. */
  pooled: boolean
  types: pg.CustomTypesConfig
  onError: (error: unknown, doing: string) => void
}): Connections {
  const lanes = new Map<Lane | 'writing', { pool: pg.Pool; semaphore: Semaphore }>()
  const open = new Set<pg.PoolClient>()
  for (const [name, limits] of Object.entries(LIMITS) as [Lane | 'writing', LaneLimits][]) {
    const pool = new pg.Pool({
      Client: options.hosts.Client as NonNullable<pg.PoolConfig['Client']>,
      max: limits.connections,
      types: options.types,
      query_timeout: limits.statementMs + SILENCE_MS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...KEEP_ALIVE,
      application_name: 'fieldline',
      ...(options.pooled
        ? {}
        : {
            options: `-c statement_timeout=${limits.statementMs} -c client_connection_check_interval=${DEAD_CLIENT_MS} -c idle_in_transaction_session_timeout=${limits.idleMs} ${KEEP_ALIVE_OPTIONS}`,
          }),
    })
    pool.on('connect', client => open.add(client))
    pool.on('remove', client => open.delete(client))
    // An idle connection that breaks must not end the process; the pool has dropped it already.
    pool.on('error', error => options.onError(error, 'idle database connection'))
    const semaphore = createSemaphore({
      max: limits.connections,
      maxPerRoot: limits.share,
      maxWaiting: MAX_WAITING,
      waitMs: WAIT_MS,
    })
    lanes.set(name, { pool, semaphore })
  }
  const laneOf = (name: Lane | 'writing') => lanes.get(name) as { pool: pg.Pool; semaphore: Semaphore }

  return {
    async lend(name, work, owner) {
      const { pool, semaphore } = laneOf(name)
      const connect = () => options.hosts.connect(() => pool.connect())
      if (name === 'writing') return lendOf(connect, work, undefined)
      const demand = currentDemand()
      const release = await semaphore.acquire(owner ?? demand.owner, { signal: demand.signal })
      try {
        return await lendOf(connect, work, demand.signal)
      } finally {
        release()
      }
    },
    settings(name) {
      const { statementMs, idleMs } = LIMITS[name]
      return `SET LOCAL statement_timeout = ${statementMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`
    },
    cut(reason) {
      for (const client of open) {
        const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
        stream.destroy(Object.assign(new Error(reason), { code: 'ECONNRESET' }))
      }
    },
    async close() {
      await Promise.all([...lanes.values()].map(({ pool }) => pool.end()))
    },
  }
}

/**
 * A connection that breaks meanwhile is thrown away rather than handed to the next. It says so beside the failure of its
 * statement, or between two statements; where nobody listened that would end the process. So is one whose statement was
 * cancelled: the request to cancel might come late, and meet the next one's.
 */
async function lendOf<T>(
  connect: () => Promise<pg.PoolClient>,
  work: (client: pg.PoolClient) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const client = await connect()
  let broken: Error | undefined
  const onBroken = (error: Error) => {
    broken = error
  }
  const onAbort = () => {
    broken ??= signal?.reason
    cancel(client)
  }
  client.on('error', onBroken)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    signal?.throwIfAborted()
    return await work(client)
  } catch (error) {
    if (isAway(error)) broken = error as Error
    throw signal?.aborted ? signal.reason : error
  } finally {
    signal?.removeEventListener('abort', onAbort)
    if (!broken) client.off('error', onBroken)
    client.release(broken)
  }
}

/** Asks the server, over a connection of its own as the protocol has it, to end what runs on this one. */
function cancel(client: pg.PoolClient): void {
  const { host, port, processID, secretKey } = client as unknown as {
    host: string
    port: number
    processID: number | null
    secretKey: number | null
  }
  if (processID === null || secretKey === null) return
  const request = Buffer.alloc(16)
  request.writeInt32BE(request.length, 0)
  request.writeInt32BE(CANCEL_REQUEST, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  // Where it does not get through, the statement's own timeout ends it.
  socket.on('error', () => {})
  socket.setTimeout(CANCEL_WITHIN_MS, () => socket.destroy())
  // The server closes; a pooler forgets the request where this end does so first.
  socket.write(request)
  socket.resume()
}
