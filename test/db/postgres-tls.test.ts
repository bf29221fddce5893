import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../db/client.ts'
import { splitUrl } from '../../db/drivers/postgres-hosts.ts'
import { readEncryption } from '../../db/drivers/postgres-tls.ts'
import { openSecretFile } from '../../db/secret.ts'
import { startPostgres } from '../services/postgres.ts'
import { createAuthority } from '../support/authority.ts'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const folder = mkdtempSync(join(tmpdir(), 'postgres-tls-'))
const authority = createAuthority(folder, 'authority')
const other = createAuthority(folder, 'other')
const server = authority.issue('server', 'DNS:localhost')
const read = (path: string) => readFileSync(path, 'utf8')
const PASSWORD = 'first-password'

// One broad server for all tests: encryption, rules for each way, a user with a password, no TimescaleDB.
const postgres = await startPostgres({
  own: true,
  timescaledb: false,
  files: {
    'server.pem': read(server.cert),
    'server-key.pem': read(server.key),
    'authority.pem': read(authority.file),
    'pg_hba.conf': [
      'hostssl   all encrypted   127.0.0.1/32 trust',
      'hostnossl all unencrypted 127.0.0.1/32 trust',
      'hostssl   all certified   127.0.0.1/32 cert',
      'hostssl   all fieldline,service 127.0.0.1/32 scram-sha-256',
      'host      all postgres    127.0.0.1/32 trust',
    ].join('\n'),
  },
  settings: {
    ssl: 'on',
    ssl_cert_file: 'server.pem',
    ssl_key_file: 'server-key.pem',
    ssl_ca_file: 'authority.pem',
  },
})
const missing = postgres.available ? undefined : postgres.reason
if (missing && process.env.REQUIRE_SERVICES === '1') throw new Error(missing)
const port = postgres.available ? new URL(postgres.url).port : ''

async function execute(statements: string, database = 'postgres'): Promise<void> {
  const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/${database}` })
  await client.connect()
  await client.query(statements)
  await client.end()
}
if (!missing) {
  await execute('CREATE ROLE encrypted LOGIN; CREATE ROLE unencrypted LOGIN; CREATE ROLE certified LOGIN')
}
afterAll(async () => {
  if (postgres.available) await postgres.stop()
  rmSync(folder, { recursive: true })
})

/** Whether the connection is encrypted, or why there is none. */
async function connect(user: string, query = '', host = '127.0.0.1'): Promise<boolean | string> {
  const url = `postgres://${user}@${host}:${port}/postgres${query}`
  const db = await openDatabase({ url, directory: '', onError: () => {} })
  try {
    const [row] = await db.system.query<{ ssl: boolean }>(
      'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    )
    return row?.ssl ?? 'no row'
  } catch (error) {
    return (error as Error).message
  } finally {
    await db.close()
  }
}

describe.skipIf(missing)('The sslmode of an address has the meaning of libpq', () => {
  const root = `&sslrootcert=${authority.file}`
  const wrong = `&sslrootcert=${other.file}`
  it.each([
    ['disable', 'postgres', '', false],
    ['disable', 'encrypted', '', /no encryption/],
    ['allow', 'postgres', '', false],
    ['allow', 'encrypted', '', true],
    ['prefer', 'postgres', '', true],
    ['prefer', 'unencrypted', '', false],
    ['require', 'postgres', '', true],
    ['require', 'unencrypted', '', /pg_hba.conf/],
    // With a file of authorities it verifies, but for the name.
    ['require', 'postgres', root, true],
    ['require', 'postgres', wrong, /certificate/],
    ['verify-ca', 'postgres', root, true],
    ['verify-ca', 'postgres', wrong, /certificate/],
    ['verify-ca', 'postgres', '', /certificate/],
    ['verify-full', 'postgres', root, /IP: 127.0.0.1 is not in the cert's list/],
  ])('%s as %s%s', async (mode, user, query, expected) => {
    const answer = await connect(user, `?sslmode=${mode}${query}`)
    if (expected instanceof RegExp) expect(answer).toMatch(expected)
    else expect(answer).toBe(expected)
  })

  it('verify-full accepts the name in the certificate', async () => {
    expect(await connect('postgres', `?sslmode=verify-full${root}`, 'localhost')).toBe(true)
  })

  it('without a mode it is prefer', async () => {
    expect(await connect('encrypted')).toBe(true)
    expect(await connect('unencrypted')).toBe(false)
  })

  it('shows a certificate to a server that asks for one', async () => {
    const { cert, key } = authority.issue('certified')
    expect(await connect('certified', `?sslmode=require&sslcert=${cert}&sslkey=${key}`)).toBe(true)
    expect(await connect('certified', '?sslmode=require')).toMatch(/certificate/)
  })
})

describe.skipIf(missing)('An address in a file', () => {
  it('has another password from the moment that the file has it', async () => {
    await execute(`CREATE ROLE fieldline LOGIN PASSWORD '${PASSWORD}'`)
    const path = join(folder, 'address')
    const addressWith = (password: string) =>
      `postgres://fieldline:${password}@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=${authority.file}\n`
    writeFileSync(path, addressWith(PASSWORD))
    const db = await openDatabase({ url: openSecretFile(path), directory: '', onError: () => {} })
    const answers = () =>
      db.system.query('SELECT 1').then(
        () => true,
        () => false,
      )
    expect(await answers()).toBe(true)
    await execute(
      `ALTER ROLE fieldline PASSWORD 'second';
       SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fieldline'`,
    )
    await until('the old password is refused', async () => !(await answers()))
    writeFileSync(path, addressWith('second'))
    await until('the new password is used', answers)
    await db.close()
  })
})

describe.skipIf(missing)('A server with an encrypted database', () => {
  it('runs as a role without rights of a superuser, without TimescaleDB', async () => {
    await execute(
      `CREATE ROLE service LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE fieldline_tenant NOLOGIN;
       GRANT fieldline_tenant TO service WITH SET TRUE, INHERIT FALSE`,
    )
    await execute('CREATE DATABASE service OWNER service')
    await execute('CREATE EXTENSION postgis; CREATE EXTENSION pg_trgm', 'service')
    const mode = `sslmode=verify-full&sslrootcert=${authority.file}`
    const url = `postgres://service:${PASSWORD}@localhost:${port}/service?${mode}`
    const database = { kind: 'postgres' as const, url, dataDir: folder, remove: async () => {} }
    const server = await openServer(database)
    const owner = await signIn(server)
    const device = await createDevice(owner)
    const points = [{ lat: 52.5, lng: 13.4, timestamp: Date.now() }]
    const answer = await createClient(server, device.key).post('/location-history/bulk', { points })
    expect(answer.status).toBe(200)
    await server.stop()
  })
})

describe('An address that cannot be meant', () => {
  it.each([
    [
      'sslmode=no-verify',
      'has sslmode=no-verify; there are disable, allow, prefer, require, verify-ca, verify-full',
    ],
    ['sslcrl=x', 'has the parameter sslcrl; there are'],
    ['sslcert=x', 'has one of sslcert and sslkey, not both'],
    ['sslrootcert=system', 'has sslrootcert=system, which requires sslmode=verify-full'],
    ['sslnegotiation=direct', 'requires sslmode=require'],
    ['SSLMODE=verify-nothing', 'has sslmode=verify-nothing; there are'],
    ['SslCrl=x', 'has the parameter sslcrl; there are'],
    ['sslmode=verify-full&sslmode=prefer', 'has the parameter sslmode twice'],
    ['sslmode=verify-full&SSLMODE=prefer', 'has the parameter sslmode twice'],
    ['channel_binding=require', 'has channel_binding=require, which is not supported'],
  ])('%s', (query, message) => {
    expect(() => readEncryption(`postgres://localhost/name?${query}`)).toThrow(message)
  })

  it('is none for a capital letter: what it asks for counts', () => {
    const { url, attempts } = readEncryption('postgres://localhost/name?SSLMODE=verify-full&Options=x')
    expect(url).toBe('postgres://localhost/name?Options=x')
    expect(attempts.map(read => read())).toEqual([{ rejectUnauthorized: true }])
  })

  it('keeps everything else', () => {
    const address = 'postgres://u:p%40q@a:1,b:2/name?application_name=x&sslmode=require'
    expect(splitUrl(address).map(url => readEncryption(url).url)).toEqual([
      'postgres://u:p%40q@a:1/name?application_name=x',
      'postgres://u:p%40q@b:2/name?application_name=x',
    ])
    expect(readEncryption('postgres:///name?host=/run').attempts).toHaveLength(1)
  })
})
