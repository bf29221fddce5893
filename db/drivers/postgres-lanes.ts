import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { createSemaphore, type Semaphore } from '../../fair/semaphore.ts'
import { currentDemand, type Lane } from '../demand.ts'
import { isAway } from '../errors.ts'
import type { LaneFigures } from './driver.ts'
import type { Hosts } from './postgres-hosts.ts'

/**
 * The connections to PostgreSQL, divided by their purpose, so that slow statements delay only their own kind: 16 slow
 * searches of one organization once made everybody's sign-in fail with 503. A statement ends on its own
 * (`statement_timeout`, since an abandoned one goes on in the database), and when its caller has disconnected.
 */
export interface LaneLimits {
  connections: number
  /** The maximum of connections of one organization. */
  share: number
  /** The maximum time of a statement, and of an idle transaction. */
  statementMs: number
  idleMs: number
}

/** On two cores more connections bring nothing; a normal request's statement takes less than 1 s. */
const LIMITS: Record<Lane | 'writing', LaneLimits> = {
  // Reads one row by its key.
  signIn: { connections: 4, share: 4, statementMs: 5_000, idleMs: 30_000 },
  requests: { connections: 12, share: 6, statementMs: 15_000, idleMs: 30_000 },
  reading: { connections: 8, share: 3, statementMs: 15_000, idleMs: 30_000 },
  // For removing an organization, or for dropping a partition behind a slow reader.
  background: { connections: 4, share: 2, statementMs: 10 * 60_000, idleMs: 60_000 },
  // More than two bring nothing on two cores, and partitions are stored side by side.
  writing: { connections: 4, share: 4, statementMs: 55_000, idleMs: 30_000 },
}
/** A frozen or disconnected server says nothing, not even that a statement took too long. */
const SILENCE_MS = 5_000
const CONNECT_TIMEOUT_MS = 5_000
/** A statement of a killed process ends soon. */
const DEAD_CLIENT_MS = 2_000
/**
 * Each end notices within 15 s that the other has disappeared with its machine or network. Node configures the kernel
 * to send ten probes, one a second.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 }
export const KEEP_ALIVE_OPTIONS =
  '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3'
const MAX_WAITING = 64
const WAIT_MS = 10_000
const CANCEL_WITHIN_MS = 5_000
/** https://www.postgresql.org/docs/current/protocol-message-formats.html, CancelRequest. */
const CANCEL_REQUEST = 80_877_102

interface LaneState {
  pool: pg.Pool
  semaphore: Semaphore
  max: number
  waiting: number
}

export interface Connections {
  /** Lends `work` a connection of the current lane, in its owner's turn. */
  lend<T>(lane: Lane | 'writing', work: (client: pg.PoolClient) => Promise<T>, owner?: string): Promise<T>
  /**
   * The beginning of a transaction in the lane, in the same round trip; a pooler does not pass on settings of a
   * session.
   */
  settings(lane: Lane | 'writing'): string
  readLanes(): LaneFigures[]
  /** Breaks every connection, idle or not: waiting statements fail now, and the next ones connect anew. */
  cut(reason: string): void
  close(): Promise<void>
}

export function openConnections(options: {
  hosts: Hosts
  /** Whether a pooler in transaction mode is used, which rejects or mixes up settings of a session. */
  pooled: boolean
  types: pg.CustomTypesConfig
  onError: (error: unknown, doing: string) => void
}): Connections {
  const lanes = new Map<Lane | 'writing', LaneState>()
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
    // A broken idle connection must not end the process; the pool has dropped it already.
    pool.on('error', error => options.onError(error, 'idle database connection'))
    const semaphore = createSemaphore({
      max: limits.connections,
      maxPerRoot: limits.share,
      maxWaiting: MAX_WAITING,
      waitMs: WAIT_MS,
    })
    lanes.set(name, { pool, semaphore, max: limits.connections, waiting: 0 })
  }
  const laneOf = (name: Lane | 'writing') => lanes.get(name) as LaneState

  return {
    async lend(name, work, owner) {
      const lane = laneOf(name)
      const { pool, semaphore } = lane
      const connect = () => options.hosts.connect(() => pool.connect())
      if (name === 'writing') return lendOf(connect, work, undefined)
      const demand = currentDemand()
      lane.waiting++
      const release = await semaphore
        .acquire(owner ?? demand.owner, { signal: demand.signal })
        .finally(() => lane.waiting--)
      try {
        return await lendOf(connect, work, demand.signal)
      } finally {
        release()
      }
    },
    readLanes: () =>
      [...lanes].map(([name, { pool, max, waiting }]) => ({
        ...{ name, max, open: pool.totalCount, idle: pool.idleCount },
        waiting: waiting + pool.waitingCount,
      })),
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
 * A connection that breaks meanwhile is discarded instead of being passed to the next caller. Its error event comes
 * beside the failure of its statement, or between two statements, and would end the process without a listener. A
 * connection with a cancelled statement is discarded too: the cancel request might arrive late and hit the next
 * statement.
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

/** Asks the server, over a separate connection as the protocol requires, to cancel the statement on this one. */
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
  // If the request does not get through, the statement's own timeout ends it.
  socket.on('error', () => {})
  socket.setTimeout(CANCEL_WITHIN_MS, () => socket.destroy())
  // The server closes the connection; a pooler forgets the request if this end closes first.
  socket.write(request)
  socket.resume()
}
