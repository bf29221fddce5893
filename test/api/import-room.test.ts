import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, type Person } from '../support/people.ts'
import { until } from '../support/wait.ts'

/** Tables with a name each, and a row that fails: their files are kept. */
const ADA = 'Name,Nr\nAda,1,2\n'
const BOB = 'Name,Nr\nBob,1,2\n'
const GIB = 1024 ** 3

describe('The room for imports', () => {
  const { server, database } = useServer()
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

  const files = () => readdirSync(join(database.dataDir, 'imports')).sort()
  const addAdmin = (client: Client): Promise<Person> => addPerson(server, client, { role: 'Admin' })

  /** A new organization with a sender and a colleague, each with a finished import. */
  async function begin() {
    const first = await addAdmin(owner)
    const organization = await addOrganization(server, first.client)
    const sender = { client: organization.client, userId: organization.userId }
    const colleague = await addAdmin(sender.client)
    const type = { name: 'Customer', fields: [{ key: 'name', label: 'Name', type: 'text' }] }
    const dataTypeId: string = (await sender.client.post('/data-type', type)).body.data._id
    const send = ({ client }: { client: Client }) => upload(server, client, BOB, { dataTypeId })
    const example = (await importFile(server, sender.client, ADA, { dataTypeId }))._id
    const db = await openTestDatabase(database)
    /** Adds imports like the first one, of a user, without files. */
    const add = (count: number, { userId }: { userId: string }, more = `'queued', 0, 0`) =>
      db.system.query<{ id: string }>(
        `INSERT INTO imports (id, organization_id, user_id, file_name, format, data_type_id, data_type_name, mode, dry_run,
           mapping, status, failed, file_bytes)
         SELECT gen_random_uuid(), u.organization_id, u.id, 'waiting.csv', i.format, i.data_type_id, i.data_type_name,
           i.mode, i.dry_run, i.mapping, ${more}
         FROM imports i, users u, generate_series(1, $3) WHERE i.id = $1 AND u.id = $2 RETURNING id`,
        [example, userId, count],
      )
    return { sender, colleague, dataTypeId, example, send, add, db, first, close: () => close(db) }
  }
  async function close(db: Database) {
    await db.system.query(`DELETE FROM imports WHERE file_name = 'waiting.csv'`)
    await db.close()
  }

  it('is 20 that wait of an organization, and there is some when one is done', async () => {
    const { sender, colleague, send, add, close } = await begin()
    try {
      const [one] = await add(20, colleague)
      const before = files()
      const refused = await send(sender)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.any(String)])
      expect(refused.body.message).toContain('Too many imports wait already')
      expect(files()).toEqual(before)
      await sender.client.post(`/import-monitoring/${one?.id}/cancel`)
      const taken = await send(sender)
      expect(taken.status).toBe(202)
      await ended(sender.client, taken.body.data._id)
    } finally {
      await close()
    }
  })

  it('is half of that for one who is alone, a third for each of two, and some for whoever comes next', async () => {
    const { sender, colleague, send, add, close } = await begin()
    const takes = async (who: { client: Client }) => {
      const { status, body } = await send(who)
      if (status === 202) await ended(who.client, body.data._id)
      return [status, body.message]
    }
    const own = [429, expect.stringContaining('your imports wait already')]
    try {
      await add(9, sender)
      expect(await takes(sender)).toEqual([202, expect.any(String)])
      await add(1, sender)
      expect(await takes(sender)).toEqual(own)
      await add(4, colleague)
      expect(await takes(colleague)).toEqual([202, expect.any(String)])
      await add(1, colleague)
      expect(await takes(colleague)).toEqual(own)
      expect(await takes(await addAdmin(sender.client))).toEqual([202, expect.any(String)])
    } finally {
      await close()
    }
  })

  it.skipIf(usualKind() === 'pglite').each<[string, number, 'sender' | 'colleague']>([
    ['of all', 19, 'colleague'],
    ['of one', 9, 'sender'],
  ])('%s is no more than that, however many come at once', async (_what, waiting, whose) => {
    const { sender, dataTypeId, add, db, close, ...others } = await begin()
    const ends: (() => Promise<unknown>)[] = []
    try {
      await add(waiting, whose === 'sender' ? sender : others.colleague)
      // Accepted imports run until the end, and none is created until all files have been inspected.
      ends.push(await hold(db, 'SELECT id FROM data_types WHERE id = $1 FOR NO KEY UPDATE', [dataTypeId]))
      const release = await hold(db, 'LOCK TABLE imports IN SHARE MODE')
      ends.push(release)
      const before = files().length
      const sendInTurn = async (): Promise<number> => {
        const { status } = await others.send(sender)
        return status === 503 ? sendInTurn() : status
      }
      const sent = Promise.all(Array.from({ length: 4 }, sendInTurn))
      await until('all wait', async () => {
        const [row] = await db.system.query<{ waiting: number }>(
          `SELECT count(*)::int4 AS waiting FROM pg_stat_activity WHERE datname = current_database()
             AND wait_event_type = 'Lock' AND (query LIKE '%INSERT INTO imports%' OR query LIKE '%advisory%')`,
        )
        return row?.waiting === 4
      })
      await release()
      expect((await sent).sort()).toEqual([202, 429, 429, 429])
      await until('the files of others are gone', () => files().length === before + 1)
    } finally {
      for (const end of ends) await end()
      await close()
    }
  })

  it('counts what its sender has in other organizations, and nothing of that against somebody else', async () => {
    const { sender, colleague, send, add, db, first, close } = await begin()
    try {
      await add(20, first)
      const refused = await send(sender)
      expect([refused.status, refused.body.message]).toEqual([
        429,
        expect.stringContaining('your imports wait already'),
      ])
      expect((await send(colleague)).status).toBe(202)
      await db.system.query(`DELETE FROM imports WHERE file_name = 'waiting.csv'`)
      await add(1, first, `'completed', 1, ${10 * GIB}`)
      expect((await send(sender)).body.message).toContain('Your files')
      expect((await send(colleague)).status).toBe(202)
    } finally {
      await close()
    }
  })

  it('is 10 GiB of files for all organizations of one root together, and nothing of that against another', async () => {
    const [one, another, stranger] = [await begin(), await begin(), await begin()]
    const { db } = one
    try {
      await db.system.query(
        `UPDATE organizations SET root = $1 WHERE id IN (SELECT organization_id FROM users WHERE id = ANY($2::uuid[]))`,
        [newId(), [one.sender.userId, another.sender.userId]],
      )
      await one.add(1, one.colleague, `'completed', 1, ${10 * GIB - ADA.length}`)
      const { status, body } = await another.send(another.colleague)
      expect([status, body.message]).toEqual([429, expect.stringContaining('take 10 GiB')])
      expect((await stranger.send(stranger.sender)).status).toBe(202)
      // Waiting imports count only for their own organization.
      await db.system.query(`UPDATE imports SET file_bytes = 0 WHERE file_name = 'waiting.csv'`)
      await one.add(20, one.colleague)
      expect((await another.send(another.colleague)).status).toBe(202)
    } finally {
      for (const { close } of [one, another, stranger]) await close()
    }
  })

  it('is 10 GiB of files that are needed, of which nobody keeps more than is left, and what is refused is gone', async () => {
    const { sender, colleague, example, send, add, db, close } = await begin()
    const set = (change: string) =>
      db.system.query(`UPDATE imports SET ${change} WHERE file_name = 'waiting.csv'`)
    const REFUSED = [429, '3600']
    const sends = async (who: { client: Client }) => {
      const { status, headers, body } = await send(who)
      if (status === 202) await ended(who.client, body.data._id)
      return { answer: [status, headers.get('retry-after')], message: body.message }
    }
    try {
      const [row] = await db.system.query<{ bytes: number }>(
        'SELECT file_bytes::float8 AS bytes FROM imports WHERE id = $1',
        [example],
      )
      expect(row?.bytes).toBe(ADA.length)
      // So much that no byte of the next file fits.
      await add(1, colleague, `'completed', 1, ${10 * GIB - ADA.length - BOB.length + 1}`)
      const newcomer = await addAdmin(sender.client)
      const before = files()
      const refused = await sends(newcomer)
      expect(refused).toEqual({ answer: REFUSED, message: expect.stringContaining('take 10 GiB') })
      expect(files()).toEqual(before)
      await set('file_bytes = file_bytes - 1')
      const who = await sends(sender)
      expect(who).toEqual({ answer: REFUSED, message: expect.stringContaining('Your files') })
      expect(files()).toEqual(before)
      expect((await sends(newcomer)).answer).toEqual([202, null])
      for (const change of [
        `failed = 0, file_bytes = ${10 * GIB}`,
        `failed = 1, created_at = now() - interval '31 days'`,
      ]) {
        await set(change)
        expect([change, (await sends(newcomer)).answer]).toEqual([change, [202, null]])
      }
      // A single user may have half.
      await set(`created_at = now(), file_bytes = ${5 * GIB - 1024}`)
      expect((await sends(colleague)).answer).toEqual([202, null])
      await set(`file_bytes = ${5 * GIB}`)
      expect(await sends(colleague)).toEqual({
        answer: REFUSED,
        message: expect.stringContaining('Your files'),
      })
    } finally {
      await close()
    }
  })
})
