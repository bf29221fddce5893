import pg from 'pg'
import type { Driver, Statement } from './client.ts'
import { isAway } from './errors.ts'
import { copyInto } from './postgres-copy.ts'

const INT8_OID = 20
const DATE_OID = 1082

/** Identifiers and counts stay below 2^53, and a date has no time zone: number and text, as PGlite gives them. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: string) {
    if (oid === INT8_OID) return Number
    if (oid === DATE_OID) return (text: string) => text
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

const RECONNECT_MS = 500
const CONNECT_TIMEOUT_MS = 5_000
/** A server that is frozen or cut off says nothing, not even no. A request gives up, the writer tries another way in. */
const REQUEST_TIMEOUT_MS = 20_000
const WRITER_TIMEOUT_MS = 60_000
/** The writer's own connections: more than two bring nothing on two cores, and partitions are stored side by side. */
const WRITER_CONNECTIONS = 4
const REQUEST_CONNECTIONS = 16

/** PostgreSQL through pools of `pg`. Opening never waits for the server; the first statement does. */
export function openPostgres(options: {
  url: string
  directUrl: string
  onError: (error: unknown, doing: string) => void
}): Driver {
  const createPool = (max: number, query_timeout: number) => {
    const pool = new pg.Pool({
      connectionString: options.url,
      max,
      types,
      query_timeout,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'fieldline',
    })
    // An idle connection that breaks must not end the process; the pool has dropped it already.
    pool.on('error', error => options.onError(error, 'idle database connection'))
    return pool
  }
  const requests = createPool(REQUEST_CONNECTIONS, REQUEST_TIMEOUT_MS)
  const writing = createPool(WRITER_CONNECTIONS, WRITER_TIMEOUT_MS)
  let closed = false
  let listener: pg.Client | undefined

  const toConfig = ({ text, values, asArrays }: Statement) => ({
    text,
    values: values as unknown[],
    ...(asArrays ? { rowMode: 'array' as const } : {}),
  })
  const runOn = (pool: pg.Pool) => async (statement: Statement) =>
    (await pool.query(toConfig(statement))).rows

  async function runTransaction<T>(
    client: pg.ClientBase,
    begin: string,
    work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>,
  ): Promise<T> {
    await client.query(begin)
    const result = await work(async statement => (await client.query(toConfig(statement))).rows)
    await client.query('COMMIT')
    return result
  }

  return {
    run: runOn(requests),
    runWriting: runOn(writing),

    copyIn: copy => lend(writing, client => copyInto(client, copy)),

    transaction: (begin, work) =>
      lend(requests, async client => {
        try {
          return await runTransaction(client, begin, work)
        } catch (error) {
          if (!isAway(error)) await client.query('ROLLBACK')
          throw error
        }
      }),

    async setUp(work) {
      const client = new pg.Client({
        connectionString: options.directUrl,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        types,
      })
      client.on('error', error => options.onError(error, 'setting up the database'))
      await client.connect()
      try {
        return await runTransaction(client, 'BEGIN', work)
      } finally {
        // Ending the connection rolls back what was not committed.
        await client.end()
      }
    },

    listen(channel, onPayload, onGap) {
      let first = true
      const connect = async (): Promise<void> => {
        const client = new pg.Client({
          connectionString: options.directUrl,
          connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
          keepAlive: true,
          application_name: 'fieldline listen',
        })
        client.on('notification', message => onPayload(message.payload ?? ''))
        client.on('error', error => options.onError(error, 'listening for changes'))
        await client.connect()
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
        if (closed) return client.end()
        listener = client
        client.once('end', () => void reconnect())
        if (!first) onGap()
        first = false
      }
      const reconnect = async (): Promise<void> => {
        if (closed) return
        try {
          await connect()
        } catch (error) {
          options.onError(error, 'listening for changes')
          setTimeout(() => void reconnect(), RECONNECT_MS)
        }
      }
      void reconnect()
    },

    async close() {
      closed = true
      await Promise.all([requests.end(), writing.end(), listener?.end()])
    },
  }
}

/**
 * Lends `work` a connection. One that breaks meanwhile is thrown away rather than handed to the next request. It says so
 * beside the failure of its statement, or between two statements; where nobody listened that would end the process.
 */
async function lend<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const onBroken = (error: Error) => {
    broken = error
  }
  client.on('error', onBroken)
  try {
    return await work(client)
  } catch (error) {
    if (isAway(error)) broken = error as Error
    throw error
  } finally {
    if (!broken) client.off('error', onBroken)
    client.release(broken)
  }
}
