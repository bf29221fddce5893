import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { currentDemand, type Lane } from '../demand.ts'
import { isAway } from '../errors.ts'
import { tryLockSession } from '../locks.ts'
import type { Secret } from '../secret.ts'
import type { BulkSize, Driver, Statement } from './driver.ts'
import { copyInto } from './postgres-copy.ts'
import { createHosts } from './postgres-hosts.ts'
import { KEEP_ALIVE, KEEP_ALIVE_OPTIONS, openConnections } from './postgres-lanes.ts'

const INT8_OID = 20
const DATE_OID = 1082

/** Identifiers and counts stay below 2^53, and a date has no time zone: they become numbers and texts, as on PGlite. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: string) {
    if (oid === INT8_OID) return Number
    if (oid === DATE_OID) return (text: string) => text
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

const RECONNECT_MS = 500
const CONNECT_TIMEOUT_MS = 5_000
/** A session that is silent for this long counts as lost. */
const PING_EVERY_MS = 2_000
const PING_TIMEOUT_MS = 5_000
/** The thread that reads a file, and the process, each hold as much. */
export const BULK: BulkSize = { rows: 4_000, characters: 2 * 1024 * 1024 }

const textOf = (address: string | Secret) => (typeof address === 'string' ? address : address.current)

/** PostgreSQL through pools of `pg`. Opening never waits for the server; the first statement does. */
export function openPostgres(options: {
  url: string | Secret
  directUrl: string | Secret
  onError: (error: unknown, doing: string) => void
}): Driver {
  // If there are two addresses, the one for everything else is a pooler's (contract section 1).
  const pooled = textOf(options.directUrl) !== textOf(options.url)
  const connections = openConnections({
    hosts: createHosts(options.url),
    pooled,
    types,
    onError: options.onError,
  })
  const direct = createHosts(options.directUrl)
  /** Opens a session of its own, which ends with the connection. */
  const connectDirectly = (config: pg.ClientConfig, onError: (error: Error) => void): Promise<pg.Client> =>
    direct.connect(async () => {
      const client = new direct.Client({
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        ...KEEP_ALIVE,
        options: KEEP_ALIVE_OPTIONS,
        ...config,
      })
      client.on('error', onError)
      await client.connect()
      return client
    })
  /** Ends a session that is silent; nothing else would notice that it is lost. */
  const watch = (client: pg.Client): void => {
    const pings = setInterval(() => {
      client.query('SELECT 1').catch(() => client.end())
    }, PING_EVERY_MS)
    client.once('end', () => clearInterval(pings))
  }
  let closed = false
  let listener: pg.Client | undefined

  const toConfig = ({ text, values, asArrays }: Statement) => ({
    text,
    values: values as unknown[],
    ...(asArrays ? { rowMode: 'array' as const } : {}),
  })
  async function runTransaction<T>(
    client: pg.ClientBase,
    begin: string,
    work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>,
  ): Promise<T> {
    await client.query(begin)
    const { signal } = currentDemand()
    const result = await work(async statement => {
      signal?.throwIfAborted()
      return (await client.query(toConfig(statement))).rows
    })
    await client.query('COMMIT')
    return result
  }

  const transaction = <T>(
    lane: Lane | 'writing',
    begin: string,
    work: (run: (statement: Statement) => Promise<unknown[]>) => Promise<T>,
    owner?: string,
  ): Promise<T> =>
    connections.lend(
      lane,
      async client => {
        try {
          return await runTransaction(client, `BEGIN; ${connections.settings(lane)}; ${begin}`, work)
        } catch (error) {
          if (!isAway(error)) await client.query('ROLLBACK')
          throw error
        }
      },
      owner,
    )
  const runAlone = (lane: Lane | 'writing', statement: Statement) =>
    connections.lend(lane, async client => (await client.query(toConfig(statement))).rows)

  return {
    isOneSession: false,
    readLanes: connections.readLanes,
    bulk: BULK,
    // Settings of a session limit single statements; behind a pooler there are none. A background statement may be one
    // that cannot run in a transaction, and ends with its job.
    run: (lane, statement) =>
      pooled && lane !== 'background'
        ? transaction(lane, '', run => run(statement))
        : runAlone(lane, statement),
    runWriting: statement => runAlone('writing', statement),

    copyIn: copy => connections.lend('writing', client => copyInto(client, copy)),

    transaction,

    async setUp(work) {
      const client = await connectDirectly({ types }, error =>
        options.onError(error, 'setting up the database'),
      )
      try {
        return await runTransaction(client, 'BEGIN', run =>
          work({ run, exec: async text => void (await client.query(text)) }),
        )
      } finally {
        // Ending the connection rolls back everything uncommitted.
        await client.end()
      }
    },

    async holdWriterLock(onLost) {
      const client = await connectDirectly(
        {
          query_timeout: PING_TIMEOUT_MS,
          application_name: 'fieldline writer',
        },
        // The `end` event reports the end of the session.
        () => {},
      )
      const locked = await tryLockSession(client, 'writer').catch(error => {
        void client.end()
        throw error
      })
      if (!locked) {
        void client.end()
        return null
      }
      watch(client)
      let released = false
      client.once('end', () => {
        if (!released) onLost()
      })
      return async () => {
        released = true
        await client.end()
      }
    },

    async listen(channel, onPayload, onGap) {
      let first = true
      const connect = async (): Promise<void> => {
        const client = await connectDirectly(
          { query_timeout: PING_TIMEOUT_MS, application_name: 'fieldline listen' },
          error => options.onError(error, 'listening for changes'),
        )
        client.on('notification', message => onPayload(message.payload ?? ''))
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`).catch(error => {
          void client.end()
          throw error
        })
        if (closed) return client.end()
        listener = client
        watch(client)
        client.once('end', () => {
          // A session that was lost silently is lost for every other connection too, which would wait a minute for an
          // answer.
          if (!closed) connections.cut('The database does not answer')
          void reconnect()
        })
        if (!first) onGap()
        first = false
      }
      const reconnect = async (): Promise<void> => {
        while (!closed) {
          try {
            return await connect()
          } catch (error) {
            options.onError(error, 'listening for changes')
            await pause(RECONNECT_MS)
          }
        }
      }
      await reconnect()
    },

    async close() {
      closed = true
      await Promise.all([connections.close(), listener?.end()])
    },
  }
}
