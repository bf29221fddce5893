import pg from 'pg'
import { type Postgres, startPostgres } from '../services/postgres.ts'
import type { TestDatabase } from '../support/database.ts'
import { createOwnPostgres } from './own-postgres.ts'
import type { Victim } from './rounds.ts'

type Machine = Postgres & { stop(): Promise<void> }

/**
 * Two PostgreSQL servers, one of which follows the other: committed data is on the disks of both. The victim is the
 * primary. It is lost for good, the standby takes its place, and a new server with an empty disk follows that one.
 */
export async function startPrimaryAndStandby(): Promise<{
  database: TestDatabase
  victim: Victim
  stop(): Promise<void>
}> {
  let primary = await startMachine({})
  let standby = await startMachine({ standbyOf: primary.url })
  const own = await createOwnPostgres(primary.url, primary.control as NonNullable<Postgres['control']>)
  const hosts = [primary, standby].map(({ url }) => new URL(url).host).join(',')
  const database = {
    ...own.database,
    url: `postgres://postgres@${hosts}${new URL(own.database.url as string).pathname}`,
  }
  return {
    database,
    victim: {
      name: 'the primary',
      async killAndRestart() {
        const { port } = new URL(primary.url)
        await primary.control?.kill9()
        await primary.stop()
        await promote(standby.url)
        primary = standby
        standby = await startMachine({ standbyOf: primary.url, port: Number(port) })
      },
    },
    async stop() {
      await database.remove()
      await standby.stop()
      await primary.stop()
    },
  }
}

async function startMachine(options: { standbyOf?: string; port?: number }): Promise<Machine> {
  const settings = { synchronous_standby_names: '*' }
  const service = await startPostgres({ own: true, settings, ...options })
  if (!service.available) throw new Error(service.reason)
  return service
}

async function promote(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('SELECT pg_promote()')
  await client.end()
}
