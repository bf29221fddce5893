import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { read } from '@e965/xlsx'
import { expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'
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
  const working = async () => (await statuses(client)).includes('processing')
  const statuses = async (by: Client) =>
    (await by.get('/tasks/export-log')).body.data.map((log: { status: string }) => log.status)
  let worker = start()
  for (let kills = 0; kills < KILLS; kills++) {
    await until('working', working)
    await pause(Math.random() * 300)
    await kill(worker)
    worker = start()
    if (!(await working())) break
  }
  const isDone = async () => (await statuses(client)).every((status: string) => status === 'completed')
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
