import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../db/client.ts'
import { withDemand } from '../db/demand.ts'
import { LOCKS } from '../db/locks.ts'
import { checkVersion } from '../db/migrate.ts'
import { readEnv, toConfig } from '../src/config.ts'
import { readRelease } from '../src/http/release.ts'
import { openProcess } from '../src/open.ts'
import { explainStart } from '../src/start-failures.ts'
import { freePort } from './services/commands.ts'
import { startPgbouncer } from './services/pgbouncer.ts'
import { createAuthority } from './support/authority.ts'
import { signIn } from './support/client.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from './support/database.ts'
import { hold } from './support/hold.ts'
import { OWNER, openServer, spawnWaiting, startRefused } from './support/server.ts'
import { until } from './support/wait.ts'

const folder = mkdtempSync(join(tmpdir(), 'start-failures-'))
afterAll(() => rmSync(folder, { recursive: true }))

const SECRET = { JWT_SECRET: 'a secret of thirty-two characters' }
const SMALL = {
  PORT: '0',
  MQTT_PORT: '0',
  DATA_DIR: folder,
  FIELDLINE_OWNER_PASSWORD: 'correct horse battery',
}

/** The sentence with which a start ends. */
async function failureOf(env: Record<string, string>): Promise<string> {
  let close = async () => {}
  try {
    const config = toConfig(readEnv({ ...SMALL, ...env }))
    const logger = pino({ level: 'silent' })
    const process = openProcess(config, { logger, release: readRelease(), onLost() {} })
    close = process.close
    await process.opened
    return 'It has started'
  } catch (error) {
    return (error as Error).message
  } finally {
    await close()
  }
}

describe.skipIf(postgresMissing())(
  'A start that fails names the variable, the host and the next step',
  () => {
    let database: TestDatabase
    let url: URL
    beforeAll(async () => {
      database = await createTestDatabase('postgres')
      url = new URL(database.url as string)
    })
    afterAll(() => database.remove())
    const withDatabase = () => ({ ...SECRET, DATABASE_URL: url.href })
    const changed = (change: (url: URL) => void) => {
      const other = new URL(url)
      change(other)
      return { ...SECRET, DATABASE_URL: other.href }
    }

    it.each(['PORT', 'MQTT_PORT', 'METRICS_PORT'])('%s is in use', async name => {
      const other = createServer().listen(0, '127.0.0.1')
      await new Promise(resolve => other.once('listening', resolve))
      const { port } = other.address() as { port: number }
      expect(await failureOf({ ...withDatabase(), [name]: `${port}` })).toBe(
        `${name} ${port} on 127.0.0.1 is in use by another program: end that one, or set ${name} to another port.`,
      )
      other.close()
    })

    it('HOST is of another machine', async () => {
      expect(await failureOf({ ...withDatabase(), HOST: '192.0.2.1' })).toMatch(
        /^HOST is "192\.0\.2\.1", which is no address of this machine: set HOST to one/,
      )
    })

    it('the database does not exist', async () => {
      const env = changed(other => {
        other.pathname = 'nowhere'
      })
      expect(await failureOf(env)).toBe(
        `The database (DATABASE_URL, ${url.host}): database "nowhere" does not exist. Create it, or name another in DATABASE_URL.`,
      )
    })

    it('the user does not exist', async () => {
      const env = changed(other => {
        other.username = 'nobody'
      })
      expect(await failureOf(env)).toMatch(/role "nobody" does not exist\. Check the user in DATABASE_URL/)
    })

    it('the database does not speak TLS', async () => {
      const env = changed(other => {
        other.search = '?sslmode=require'
      })
      expect(await failureOf(env)).toMatch(/does not speak TLS, and sslmode in DATABASE_URL demands it/)
    })

    it('a pooler stands alone before the database', async () => {
      const pooler = await startPgbouncer(url.href)
      if (!pooler.available) throw new Error(pooler.reason)
      expect(await failureOf({ ...SECRET, DATABASE_URL: pooler.url })).toMatch(
        /is behind a pooler such as PgBouncer.*set DATABASE_DIRECT_URL/,
      )
      await pooler.stop()
    })

    it('a newer Fieldline has set up the database', async () => {
      const newer = await createTestDatabase('postgres')
      const client = new pg.Client({ connectionString: newer.url })
      await client.connect()
      await client.query(`INSERT INTO schema_migrations (name, contracts) VALUES ('9999_later.sql', true)`)
      await client.end()
      expect(await failureOf({ ...SECRET, DATABASE_URL: newer.url as string })).toMatch(
        /belongs to a newer version of Fieldline, which has taken away .* \(9999_later\.sql\): start that version/,
      )
      await newer.remove()
    })

    it('the certificate of MQTT is not that of the key', async () => {
      const authority = createAuthority(folder, 'mqtt')
      const [one, other] = [authority.issue('one'), authority.issue('other')]
      const tls = { MQTT_TLS_PORT: '0', MQTT_TLS_CERT: one.cert, MQTT_TLS_KEY: other.key }
      expect(await failureOf({ ...withDatabase(), ...tls })).toMatch(
        /^MQTT_TLS_CERT \(.*\) and MQTT_TLS_KEY \(.*\) have to be a certificate and its key, as PEM/,
      )
      writeFileSync(one.cert, 'no certificate')
      expect(await failureOf({ ...withDatabase(), ...tls })).toMatch(/^MQTT_TLS_CERT/)
    })

    it('PostgreSQL is too old', () => {
      expect(() => checkVersion('15.6 (Debian 15.6-0+deb12u1)')).toThrow(
        /DATABASE_URL\) is PostgreSQL 15\.6 .*needs 16 or later: upgrade it/,
      )
      checkVersion('16beta1')
    })
  },
)

describe('A start that waits for the database says for what', () => {
  const reasonOf = async (address: string) => {
    const config = toConfig({ ...SMALL, ...SECRET, DATABASE_URL: address })
    const db = await openDatabase({ url: config.databaseUrl, directory: '', onError: () => {} })
    const error = await db.system.query('SELECT 1').catch(error => error)
    await db.close()
    return (explainStart(error, config) as Error).message
  }

  it('where nobody listens', async () => {
    const port = await freePort()
    const reason = await reasonOf(`postgres://me:hidden@127.0.0.1:${port}/fieldline`)
    expect(reason).toMatch(
      /^The database \(DATABASE_URL, 127\.0\.0\.1:\d+\) does not answer: connect ECONNREFUSED/,
    )
    expect(reason).not.toContain('hidden')
  })

  it('where the host has no address', async () => {
    expect(await reasonOf('postgres://nowhere.invalid/fieldline')).toMatch(
      /\(DATABASE_URL, nowhere\.invalid\): no address is known for the host "nowhere\.invalid"/,
    )
  })
})

describe.skipIf(postgresMissing())('The first start', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase('postgres')
  })
  afterAll(() => database.remove())
  const env = { FIELDLINE_OWNER_PASSWORD: '' }

  it('prints the generated password even if it fails afterwards, and no later one prints it', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    const failed = { ...env, MQTT_PORT: `${port}` }
    const first = await startRefused(database, failed)
    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining(`MQTT_PORT ${port}`) })
    const [, password] =
      /^The first account is (?:\S+), its password (\S+) \(shown once\)\.$/m.exec(first.stdout) ?? []
    expect(await startRefused(database, failed)).toMatchObject({ code: 1, stdout: '' })
    other.close()
    const server = await openServer(database)
    await signIn(server, { email: OWNER.email, password: password as string })
    await server.stop()
  })

  it('ends with 0 at SIGTERM, even while another process holds it back', async () => {
    const db = await openTestDatabase(database)
    await db.system.query(`DELETE FROM schema_migrations WHERE name = '0175_former_keys.sql'`)
    // Other transactions may not stay idle for as long as a slow start.
    const release = await withDemand({ lane: 'background' }, () =>
      hold(db, 'SELECT pg_advisory_xact_lock($1)', [LOCKS.migrations]),
    )
    const server = spawnWaiting(database, env)
    await until('it waits for the other one', () =>
      server.output.stderr.includes('Another process migrates the database'),
    )
    expect(await server.kill('SIGTERM')).toBe(0)
    await until('its log says so', () => server.output.stderr.includes('Stopping on SIGTERM'))
    expect(server.output.stderr).not.toContain('cannot start')
    await release()
    await db.close()
  })
})

describe('A start on the embedded database', () => {
  it('needs a folder', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(await failureOf({ DATA_DIR: file })).toMatch(/^DATA_DIR .* has to be a folder that the user/)
  })
})
