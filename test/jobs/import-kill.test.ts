import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, utimesSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createImportFiles } from '../../src/resources/imports/files.ts'
import { signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'
import { ended, upload } from '../support/imports.ts'
import { openServer, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

const WORKER = resolve(import.meta.dirname, '../support/import-worker.ts')
/** `ROWS=1000000 KILLS=10 npx vitest run test/jobs/import-kill` takes some minutes. */
const ROWS = Number(process.env.ROWS ?? 12_000)
const KILLS = Number(process.env.KILLS ?? 2)
const BAD_EVERY = 10

it(
  'An import whose processes are killed goes on where it was: no row and no webhook twice or lost',
  async context => {
    const missing = postgresMissing()
    if (missing) return context.skip(missing)
    const database = await createTestDatabase('postgres')
    // The server does not have the role jobs: only the processes of the test work, and nothing is delivered.
    const server = await openServer(database, { ROLES: 'api' })
    const client = await signIn(server)
    const fields = [
      { key: 'n', label: 'N', type: 'number' },
      { key: 'day', label: 'Day', type: 'date' },
      { key: 'size', label: 'Size', type: 'number' },
    ]
    await client.patch('/organization', { language: 'en' })
    const dataTypeId = (await client.post('/data-type', { name: 'Many', fields })).body.data._id
    await client.post('/webhook', { url: 'http://127.0.0.1:9/', events: ['data-source-created'] })
    const lines = Array.from(
      { length: ROWS },
      (_, n) => `${n};${n % BAD_EVERY === 0 ? 'never' : '2026-11-21'};1.234`,
    )
    // The type has no primary key: only the position shows whether a row is stored.
    const file = `N;Day;Size\n${lines.join('\n')}`
    const { _id } = (await upload(server, client, file, { dataTypeId })).body.data

    // Each step takes a while, so that the processes die in the middle of one, however late a machine notices its end.
    const slow = await openTestDatabase(database)
    await slow.system.query(
      `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END $$`,
    )
    await slow.system.query(
      'CREATE TRIGGER linger AFTER INSERT ON data_records FOR EACH STATEMENT EXECUTE FUNCTION linger()',
    )
    await slow.close()

    const start = () =>
      spawn(process.execPath, ['--import', 'tsx', WORKER, database.url as string, database.dataDir], {
        stdio: 'inherit',
      })
    const kill = async (worker: ChildProcess) => {
      const gone = once(worker, 'exit')
      worker.kill('SIGKILL')
      await gone
    }
    const read = async () => (await client.get(`/import-monitoring/${_id}`)).body.data
    let worker = start()
    onTestFinished(() => void worker.kill('SIGKILL'))
    let kills = 0
    while (kills < KILLS) {
      const { processed } = await read()
      const goesOn = async () => {
        const now = await read()
        return now.processed > processed || /completed|failed/.test(now.status)
      }
      await until('it goes on', goesOn)
      await pause(Math.random() * Math.max(300, ROWS / (30 * KILLS)))
      if ((await read()).status !== 'processing') break
      await kill(worker)
      kills++
      // In that language the text is another number. A file is read in one way to its end.
      await client.patch('/organization', { language: 'de' })
      worker = start()
    }
    expect(kills).toBeGreaterThan(1)
    const done = await ended(client, _id, 300_000 + ROWS)
    await kill(worker)

    const good = ROWS - ROWS / BAD_EVERY
    expect(done).toMatchObject({
      status: 'completed_with_errors',
      total: ROWS,
      created: good,
      failed: ROWS / BAD_EVERY,
    })
    const db = await openTestDatabase(database)
    const counts = async (from: string, value: string) => {
      const [row] = await db.system.query(
        `SELECT count(*)::int4 AS count, count(DISTINCT v)::int4 AS "distinct", coalesce(sum(v), 0)::float8 AS sum
       FROM (SELECT (${value})::int8 AS v FROM ${from}) counted`,
      )
      return row
    }
    const sum = Array.from({ length: ROWS }, (_, n) => (n % BAD_EVERY === 0 ? 0 : n)).reduce((a, b) => a + b)
    const expected = { count: good, distinct: good, sum }
    expect(await counts(`data_records WHERE data_type_id = '${dataTypeId}'`, `data->>'n'`)).toEqual(expected)
    const sizes = await db.system.query(`SELECT DISTINCT data->>'size' AS size FROM data_records`)
    expect(sizes).toEqual([{ size: '1.234' }])
    expect(await counts('webhook_events', `payload::jsonb->>'n'`)).toEqual(expected)
    const [failures] = await db.system.query<{ rows: number }>(
      `SELECT count(DISTINCT row)::int4 AS rows FROM import_failures WHERE import_id = $1`,
      [_id],
    )
    expect(failures?.rows).toBe(ROWS / BAD_EVERY)
    await db.close()
    await server.stop()
    await database.remove()
  },
  480_000 + ROWS,
)

it('An import that began when the line sep=; was its own row continues with the next row', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const database = await createTestDatabase('postgres')
  const server = await openServer(database, { ROLES: 'api' })
  const client = await signIn(server)
  const fields = [{ key: 'n', label: 'N', type: 'number' }]
  const dataTypeId = (await client.post('/data-type', { name: 'Many', fields })).body.data._id
  const file = 'sep=;\nN;Note\n1;a\n2;b\n3;c\nnever;d\n'
  const begun = (await upload(server, client, file, { dataTypeId })).body.data._id
  const fresh = (await upload(server, client, file, { dataTypeId })).body.data._id
  const db = await openTestDatabase(database)
  // Two rows are stored: the header was row 2.
  await db.system.query(
    `UPDATE imports SET status = 'processing', started_at = now(), processed = 2, created = 2 WHERE id = $1`,
    [begun],
  )
  await db.system.query(
    `UPDATE jobs SET progress = '{"row": 4, "reported": 0}' WHERE payload->>'importId' = $1`,
    [begun],
  )
  const worker = await openServer(database, { ROLES: 'jobs' })
  const failedRows = async (id: string) => {
    const url = `${server.url}/api/v3/import-monitoring/${id}/failed-rows`
    return (await fetch(url, { headers: { authorization: `Bearer ${client.token}` } })).text()
  }
  for (const [id, row] of [
    [begun, 6],
    [fresh, 5],
  ] as const) {
    const done = await ended(client, id)
    expect(done).toMatchObject({ created: 3, failed: 1, failures: [{ row, value: 'never' }] })
    expect(await failedRows(id)).toContain('\r\nnever;d;')
  }
  const sizes = await db.system.query(`SELECT data->>'n' AS n FROM data_records ORDER BY 1`)
  expect(sizes.map(({ n }) => n)).toEqual(['1', '2', '3', '3'])
  await db.close()
  await worker.stop()
  await server.stop()
  await database.remove()
})

it('A file whose process dies before it was whole is no import, and is deleted later', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const database = await createTestDatabase('postgres')
  const server = await startServer(database, { ROLES: 'api' })
  const client = await signIn(server)
  const files = () => readdirSync(join(database.dataDir, 'imports'))
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => {})
  const part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nName\n'
  socket.write(
    `POST /api/v3/data/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n` +
      `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n${part}${'a\n'.repeat(50_000)}`,
  )
  await until('some of it is there', () => {
    try {
      return files().length === 1
    } catch {
      return false
    }
  })
  await server.kill9()
  const again = await openServer(database, { ROLES: 'api' })
  const owner = await signIn(again)
  expect((await owner.get('/import-monitoring')).body.data).toEqual([])
  const db = await openTestDatabase(database)
  const kept = createImportFiles(database.dataDir)
  await kept.sweep(db.system)
  // The file might still be arriving.
  expect(files()).toHaveLength(1)
  const before = Date.now() / 1000 - 2 * 3600
  for (const name of files()) utimesSync(join(database.dataDir, 'imports', name), before, before)
  await kept.sweep(db.system)
  expect(files()).toEqual([])
  await db.close()
  await again.stop()
  await database.remove()
})
