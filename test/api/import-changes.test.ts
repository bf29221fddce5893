import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

/** More than two batches. */
const ROWS = 8_100
const fields = ['id', 'v'].map(key => ({ key, label: key, type: 'text' }))
const rows = (value: string) =>
  `id,v\n${Array.from({ length: ROWS }, (_, n) => `${n},${value}${n}\n`).join('')}`

// Locks in the database decide which import waits, and PGlite admits nobody beside the server.
describe.runIf(usualKind() === 'postgres')(
  'A data type that changes after a file for it was accepted',
  () => {
    const { server, database, owner } = useOrganization()
    let db: Database
    let types = 0
    beforeAll(async () => {
      db = await openTestDatabase(database)
    })
    afterAll(() => db.close())
    const makeType = async () => {
      const made = await owner.post('/data-type', { name: `Changing ${++types}`, primaryKey: 'id', fields })
      const { _id, name } = made.body.data
      const rekey = async (primaryKey: string | null) =>
        expect((await owner.put(`/data-type/${_id}`, { name, primaryKey, fields })).status).toBe(200)
      const read = async () => (await owner.get(`/data?dataTypeId=${_id}&limit=5&sort=createdAt`)).body
      return { dataTypeId: _id as string, rekey, read }
    }

    it.each([
      ['create', null],
      ['upsert', 'v'],
    ] as const)(
      'in its primary key ends the import that waits, and leaves every record: %s, %s',
      async (mode, key) => {
        const other = await makeType()
        const { dataTypeId, rekey, read } = await makeType()
        await importFile(server, owner, 'id,v\n1,a\n2,b\n', { dataTypeId })
        const before = (await read()).data
        // An organization runs one import at a time: the first, while its type is locked.
        const release = await hold(db, 'SELECT FROM data_types WHERE id = $1 FOR NO KEY UPDATE', [
          other.dataTypeId,
        ])
        const first = await upload(server, owner, 'id,v\n1,x\n', { dataTypeId: other.dataTypeId })
        const waiting = await upload(server, owner, 'id,v\n1,c\n3,b\n', { dataTypeId, mode })
        await rekey(key)
        await release()
        const done = await ended(owner, waiting.body.data._id)
        expect(done).toMatchObject({ status: 'failed', processed: 0, created: 0, updated: 0 })
        expect(done.error).toContain('The primary key of Changing')
        expect((await read()).data).toEqual(before)
        expect(await ended(owner, first.body.data._id)).toMatchObject({ created: 1 })
      },
    )

    it('in its primary key ends the import that is at work: no record is there twice', async () => {
      const { dataTypeId, rekey } = await makeType()
      await importFile(server, owner, rows('a'), { dataTypeId })
      const { body } = await upload(server, owner, rows('b'), { dataTypeId, mode: 'upsert' })
      await until('it is at work', async () => {
        const { processed } = (await owner.get(`/import-monitoring/${body.data._id}`)).body.data
        return processed > 0
      })
      await rekey(null)
      const done = await ended(owner, body.data._id)
      const last = await owner.get(`/data?dataTypeId=${dataTypeId}&filter[id]=${ROWS - 1}`)
      expect([done.created, last.body.data.length]).toEqual([0, 1])
      // If the import was faster than the change, it succeeded.
      if (done.updated < ROWS) expect(done.status).toBe('failed')
    })
  },
)
