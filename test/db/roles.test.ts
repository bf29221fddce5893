import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOwnPostgres } from '../integrity/own-postgres.ts'
import { startPgbouncer } from '../services/pgbouncer.ts'
import { startPostgres } from '../services/postgres.ts'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { postgresMissing, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen } from '../support/screen.ts'
import { openServer, startRefused } from '../support/server.ts'

describe('On a PostgreSQL server', () => {
  const missing = postgresMissing()
  let postgres: Extract<Awaited<ReturnType<typeof startPostgres>>, { available: true }>
  beforeAll(async () => {
    const service = missing ? undefined : await startPostgres({ own: true })
    if (service?.available) postgres = service
  })
  const made: TestDatabase[] = []
  afterAll(async () => {
    await postgres?.stop()
    for (const database of made) await database.remove()
  })

  const createEmpty = async ({ url, control }: typeof postgres) => {
    if (!control) throw new Error('It is the server of the environment')
    const { database } = await createOwnPostgres(url, control)
    made.push(database)
    return database
  }
  /** Tests share a database: the first start on an empty one applies every migration. */
  let shared: TestDatabase | undefined
  const share = async (server: typeof postgres) => {
    shared ??= await createEmpty(server)
    return shared
  }

  const test = (
    name: string,
    work: (database: TestDatabase, ask: (sql: string) => Promise<void>) => Promise<void>,
    given = createEmpty,
  ) =>
    it(name, async context => {
      if (missing || !postgres.control) return context.skip(missing)
      const database = await given(postgres)
      const ask = async (sql: string) => {
        const client = new pg.Client({ connectionString: database.url })
        await client.connect()
        await client.query(sql).finally(() => client.end())
      }
      await work(database, ask)
    })

  const as = (database: TestDatabase, user: string): TestDatabase => {
    const url = new URL(database.url as string)
    url.username = user
    return { ...database, url: url.href }
  }

  async function useIt(database: TestDatabase, env: Record<string, string> = {}): Promise<void> {
    const server = await openServer(database, env)
    const owner = await signIn(server)
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token)
    const client = await connectDevice(server, device)
    await publish(client, device, { lat: 1, lng: 2, timestamp: Date.now() - 1000 })
    expect(await readHistory(owner, device.id)).toHaveLength(1)
    await owner.post('/auth/logout')
    expect((await screen.closed).code).toBe(4401)
    expect(await server.stop()).toBe(0)
  }

  // This comes first: roles belong to the server, which has none yet.
  test('an owner that may create roles and extensions needs no administrator', async (database, ask) => {
    const name = new URL(database.url as string).pathname.slice(1)
    await ask(
      `CREATE ROLE able LOGIN CREATEROLE; ALTER DATABASE ${name} OWNER TO able; CREATE EXTENSION postgis`,
    )
    await useIt(as(database, 'able'))
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await client.query('DROP ROLE fieldline_tenant')
    await client.end()
  })

  test('a start with missing rights says what an administrator has to run, and works when it is done', async (database, ask) => {
    const name = new URL(database.url as string).pathname.slice(1)
    await ask(
      `CREATE ROLE humble LOGIN; GRANT CREATE ON DATABASE ${name} TO humble; GRANT CREATE ON SCHEMA public TO humble`,
    )
    const humble = as(database, 'humble')
    expect((await startRefused(humble)).stderr).toContain('CREATE EXTENSION postgis;')
    await ask('CREATE EXTENSION postgis; CREATE EXTENSION timescaledb')
    await expect(openServer(humble)).rejects.toThrow('CREATE ROLE fieldline_tenant NOLOGIN;')
    await ask('CREATE ROLE fieldline_tenant NOLOGIN')
    await expect(openServer(humble)).rejects.toThrow('GRANT fieldline_tenant TO')
    await ask('GRANT fieldline_tenant TO humble WITH SET TRUE, INHERIT FALSE')
    await useIt(humble)
  })

  test(
    'it works through a pooler in transaction mode',
    async database => {
      const pooler = await startPgbouncer(database.url as string)
      if (!pooler.available) throw new Error(pooler.reason)
      await useIt({ ...database, url: pooler.url }, { DATABASE_DIRECT_URL: database.url as string })
      await pooler.stop()
    },
    share,
  )

  test(
    'a tenant role that could bypass the policies is refused',
    async (database, ask) => {
      await openServer(database).then(server => server.stop())
      for (const [bypass, back] of [
        ['ALTER ROLE fieldline_tenant BYPASSRLS', 'ALTER ROLE fieldline_tenant NOBYPASSRLS'],
        ['ALTER ROLE fieldline_tenant SUPERUSER', 'ALTER ROLE fieldline_tenant NOSUPERUSER'],
        ['GRANT postgres TO fieldline_tenant', 'REVOKE postgres FROM fieldline_tenant'],
      ] as const) {
        await ask(bypass)
        const refused = await openServer(database).catch(error => error)
        await ask(back)
        expect(refused, bypass).toMatchObject({
          message: expect.stringContaining('would not keep organizations apart'),
        })
      }
    },
    share,
  )
})
