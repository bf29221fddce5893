import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { read } from '@e965/xlsx'
import { expect, it } from 'vitest'
import { withDemand } from '../../db/demand.ts'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { openServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

const WORKER = resolve(import.meta.dirname, '../support/export-worker.ts')
const RECORDS = 8_000
const KILLS = 2

it('Exports whose processes are killed begin again and are whole', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const database = await createTestDatabase('postgres')
  // The server does not have the role jobs, so that only the processes of the test work.
  const server = await openServer(database, { ROLES: 'api' })
  const client = await signIn(server)
  const fields = [{ key: 'n', label: 'N', type: 'number' }]
  const dataTypeId = (await client.post('/data-type', { name: 'Many', fields })).body.data._id
  const db = await openTestDatabase(database)
  await db.system.query(
    `INSERT INTO data_records (id, organization_id, data_type_id, data, search)
     SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, organization_id, id,
       json_build_object('n', n), n::text
     FROM data_types, generate_series(1, ${RECORDS}) n WHERE id = $1`,
    [dataTypeId],
  )
  const ids: string[] = []
  for (const format of ['xlsx', 'json'])
    ids.push((await client.post('/data/export', { dataTypeId, format })).body.data._id)

  const start = () =>
    spawn(process.execPath, ['--import', 'tsx', WORKER, database.url as string, database.dataDir], {
      stdio: 'inherit',
    })
  const kill = async (worker: ChildProcess) => {
    const gone = once(worker, 'exit')
    worker.kill('SIGKILL')
    await gone
  }
  const attempts = async () => {
    const [row] = await db.system.query<{ n: number }>(
      `SELECT sum(attempts)::int4 AS n FROM jobs WHERE kind = 'export'`,
    )
    return row?.n ?? 0
  }
  const statuses = async (by: Client) =>
    (await by.get('/tasks/export-log')).body.data.map((log: { status: string }) => log.status)
  const isDone = async () => (await statuses(client)).every((status: string) => status === 'completed')
  for (let kills = 0; kills < KILLS && !(await isDone()); kills++) {
    const before = await attempts()
    // It cannot end before it was seen to begin. Other transactions may not stay idle for as long as a slow start.
    const letGo = await withDemand({ lane: 'background' }, () =>
      hold(db, 'LOCK TABLE data_records IN ACCESS EXCLUSIVE MODE'),
    )
    const killed = start()
    await until('it has begun', async () => (await attempts()) > before)
    await letGo()
    await pause(Math.random() * 300)
    await kill(killed)
  }
  const worker = start()
  await until('done', isDone, 300_000)
  await kill(worker)

  const numbers = Array.from({ length: RECORDS }, (_, at) => at + 1)
  for (const id of ids) {
    const response = await fetch(`${server.url}/api/v3/tasks/export-log/${id}/file`, {
      headers: { authorization: `Bearer ${client.token}` },
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.headers.get('content-type')?.includes('json')) {
      const records = JSON.parse(bytes.toString())
      expect(records.map(({ data }: { data: { n: number } }) => data.n)).toEqual(numbers)
    } else {
      const sheet = read(bytes).Sheets.Many as { [cell: string]: { v: unknown } }
      expect(numbers.map(n => sheet[`A${n + 1}`]?.v)).toEqual(numbers)
    }
  }
  const files = readdirSync(join(database.dataDir, 'exports')).filter(name => name !== 'drafts')
  expect(files.map(name => name.split('.')[0]).sort()).toEqual(ids.toSorted())
  await db.close()
  await server.stop()
  await database.remove()
})
