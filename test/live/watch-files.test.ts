import { expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing } from '../support/database.ts'
import { importFile } from '../support/imports.ts'
import { openScreen } from '../support/screen.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

type Message = { type: string } & { [record in 'import' | 'export']?: { _id: string; status: string } }

it('A client that watches imports and exports hears of them from another process than the one that runs them', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const database = await createTestDatabase('postgres')
  const server = await openServer(database, { ROLES: 'api,ingest,writer,live', EXPORT_DIRECT_LIMIT: '1' })
  const worker = await openServer(database, { ROLES: 'jobs' })
  try {
    const owner = await signIn(server)
    const fields = [{ key: 'n', label: 'N', type: 'number' }]
    const dataTypeId = (await owner.post('/data-type', { name: 'Numbers', fields })).body.data._id
    const screen = await openScreen(server, owner.token)
    const messages = screen.messages as unknown as Message[]
    screen.send({ type: 'watch', topics: ['imports', 'exports'] })
    await until('watching', () => messages.some(({ type }) => type === 'watching'))
    const statuses = (what: 'import' | 'export', id: string) =>
      messages.flatMap(message => (message[what]?._id === id ? message[what].status : []))

    const done = await importFile(server, owner, 'N\n1\n2\n3\n', { dataTypeId })
    expect(done).toMatchObject({ status: 'completed', created: 3 })
    await until('told of the import', () => statuses('import', done._id).at(-1) === 'completed')
    const ordered = (await owner.post('/data/export', { dataTypeId, format: 'xlsx' })).body.data
    await until('told of the export', () => statuses('export', ordered._id).at(-1) === 'completed')
    expect((await owner.get(`/tasks/export-log/${ordered._id}/file`)).status).toBe(200)
    screen.cut()
  } finally {
    await worker.stop()
    await server.stop()
    await database.remove()
  }
})
