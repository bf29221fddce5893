import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.ts'
import { countHolds, readFigures } from '../support/figures.ts'
import { importFile } from '../support/imports.ts'
import { addOrganization } from '../support/people.ts'
import { slowness } from '../support/processor-time.ts'
import { openServer, type Server } from '../support/server.ts'
import { useOrganization } from '../support/shared-server.ts'

const RECORDS = 20
const keys = Array.from({ length: 24 }, (_, at) => `f${at}`)
const fields = (more: object = {}) => keys.map(key => ({ key, label: key, type: 'text', ...more }))

/** Steps read 500 records. */
const ROWS = 1_600
/** Its values are released by the 2,000. */
const RELEASED_ROWS = 2_100
/** On the embedded database, where the values of people are released by the 2,000. */
const EMBEDDED_ROWS = 1_100
const code = (unique: boolean) => ({ key: 'code', label: 'Code', type: 'text', unique })
const describeType = (name: string, unique: boolean) => ({ name, fields: [code(unique)] })

/** A type with many records, each with its own value, and operations on it. */
async function createCodes(server: { url: string }, owner: Client, name: string, count: number) {
  const type = await owner.post('/data-type', describeType(name, false))
  const dataTypeId: string = type.body.data._id
  const rows = Array.from({ length: count }, (_, row) => `C${row}`)
  const imported = await importFile(server, owner, ['Code', ...rows].join('\n'), { dataTypeId })
  expect(imported.created).toBe(count)
  const find = async (value: string): Promise<string> =>
    (await owner.get(`/data?dataTypeId=${dataTypeId}&filter[code]=${value}`)).body.data[0]._id
  return {
    dataTypeId,
    find,
    add: async (value: string) => (await owner.post('/data', { dataTypeId, data: { code: value } })).status,
    change: (unique: boolean) => owner.put(`/data-type/${dataTypeId}`, describeType(name, unique)),
    set: async (value: string, to: string) =>
      (await owner.put(`/data/${await find(value)}`, { data: { code: to } })).status,
    remove: async (value: string) => (await owner.delete(`/data/${await find(value)}`)).status,
  }
}

const PEOPLE = 2_100
const TEAMS = 20
const person = (comparison: 'text' | 'email', link: object) => [
  { key: 'email', label: 'E-mail', type: comparison, unique: true },
  { key: 'team', label: 'Team', ...link },
]
const TEXT = { type: 'text' }

/** A type of people with unique texts that are e-mail addresses, and texts that are identifiers of teams. */
async function createPeople(server: { url: string }, owner: Client, name: string) {
  const make = async (path: string, body: object): Promise<string> => {
    const answer = await owner.post(path, body)
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(201)
    return answer.body.data._id
  }
  const teamTypeId = await make('/data-type', {
    name: `${name} teams`,
    fields: [{ key: 'name', label: 'Name', type: 'text' }],
  })
  const teams: string[] = []
  for (let at = 0; at < TEAMS; at++)
    teams.push(await make('/data', { dataTypeId: teamTypeId, data: { name: `T${at}` } }))
  const dataTypeId = await make('/data-type', { name, fields: person('text', TEXT) })
  const rows = Array.from({ length: PEOPLE }, (_, row) => `P${row}@example.com,${teams[row % TEAMS]}`)
  const imported = await importFile(server, owner, ['E-mail,Team', ...rows].join('\n'), { dataTypeId })
  expect(imported.created).toBe(PEOPLE)
  return {
    teams,
    change: (comparison: 'text' | 'email', link: object = TEXT) =>
      owner.put(`/data-type/${dataTypeId}`, { name, fields: person(comparison, link) }),
    reference: { type: 'reference', dataTypeId: teamTypeId },
    add: async (email: string, team = teams[0]) =>
      (await owner.post('/data', { dataTypeId, data: { email, team } })).status,
    addTeam: () => make('/data', { dataTypeId: teamTypeId, data: { name: 'New' } }),
    remove: async (id: string) => (await owner.delete(`/data/${id}`)).status,
  }
}

function describeLinks(get: () => { server: { url: string }; owner: Client }): void {
  let people: Awaited<ReturnType<typeof createPeople>>

  it('compares unique values anew, while others write and delete', async () => {
    const { server, owner } = get()
    people = await createPeople(server, owner, 'People')
    expect(await people.add('p1@example.com'), 'texts differ by case').toBe(201)
    expect((await people.change('email')).status).toBe(409)
    const { data } = (await owner.get('/data?dataTypeName=People&filter[email]=p1@example.com')).body
    expect(await people.remove(data[0]._id)).toBe(200)
    const [changed, added] = await Promise.all([people.change('email'), people.add('New@example.com')])
    expect([changed.status, added]).toEqual([200, 201])
    for (const taken of ['p2@EXAMPLE.com', 'NEW@example.com', `p${PEOPLE - 1}@example.com`])
      expect([taken, await people.add(taken)]).toEqual([taken, 409])
    expect((await people.change('text')).status).toBe(200)
    for (const free of ['p2@EXAMPLE.com', 'NEW@example.com'])
      expect([free, await people.add(free)]).toEqual([free, 201])
    expect(await people.add('P2@example.com')).toBe(409)
  })

  it('makes texts references, of which none leads to a record that somebody deletes meanwhile', async () => {
    const unused = [await people.addTeam(), await people.addTeam(), await people.addTeam()]
    let under = true
    const changing = people.change('text', people.reference).finally(() => {
      under = false
    })
    const deleted: number[] = []
    for (let at = 0; under || at < TEAMS; at++) {
      deleted.push(await people.remove(people.teams[at % TEAMS] as string))
      const free = unused.pop()
      if (free) expect(await people.remove(free)).toBe(200)
    }
    const changed = await changing
    // A record that was deleted before the change began is one to which the text leads no more.
    expect(changed.status === 200).toBe(!deleted.includes(200))
    if (changed.status !== 200) expect(changed.body.conflicts.count).toBeGreaterThan(0)
    else expect(await people.add('last@example.com', '01a00000-0000-7000-8000-000000000000')).toBe(400)
  })
}

function describeUniqueness(
  get: () => { server: { url: string }; owner: Client },
  { rows, released }: { rows: number; released: number },
): void {
  it('counts what is written while it makes a field unique: new values, other ones, and those given up', async () => {
    const { server, owner } = get()
    const codes = await createCodes(server, owner, 'Written', rows)
    let under = true
    const changing = codes.change(true).finally(() => {
      under = false
    })
    const added: string[] = []
    for (let at = 0; under || at < 3; at++) {
      const value = `N${at}`
      expect(await codes.add(value)).toBe(201)
      expect(await codes.set(`C${at}`, `M${at}`)).toBe(200)
      expect(await codes.remove(`C${rows - 1 - at}`)).toBe(200)
      added.push(value)
    }
    expect((await changing).status).toBe(200)
    for (const at of [0, added.length - 1]) {
      for (const taken of [`N${at}`, `M${at}`]) expect([taken, await codes.add(taken)]).toEqual([taken, 409])
      for (const free of [`C${at}`, `C${rows - 1 - at}`])
        expect([free, await codes.add(free)]).toEqual([free, 201])
    }
    expect(await codes.add(`C${rows / 2}`)).toBe(409)
  })

  it('says who shares a value that was written meanwhile, leaves the type as it was, and may be done again', async () => {
    const { server, owner } = get()
    const codes = await createCodes(server, owner, 'Shared', released)
    const last = `C${released - 1}`
    const [added, changed] = await Promise.all([codes.add(last), codes.change(true)])
    expect([changed.status, added]).toEqual([409, 201])
    expect(changed.body.conflicts.count).toBe(1)
    expect(await codes.add(last)).toBe(201)
    const twice = await codes.change(true)
    expect([twice.status, twice.body.conflicts.count]).toEqual([409, 2])
    for (const _ of twice.body.conflicts.ids) expect(await codes.remove(last)).toBe(200)
    expect((await codes.change(true)).status).toBe(200)
    expect(await codes.add(last)).toBe(409)
    // When it is no longer unique, its values are released.
    expect((await codes.change(false)).status).toBe(200)
    expect(await codes.add(last)).toBe(201)
  })
}

describe('A change of a data type beside others who write', () => {
  const { server, database, owner } = useOrganization()
  describeUniqueness(() => ({ server, owner }), { rows: ROWS, released: RELEASED_ROWS })
  describeLinks(() => ({ server, owner }))

  it('that a process has not finished leaves nothing half on', async context => {
    if (!database.url) return context.skip('The database is open in one process alone')
    const codes = await createCodes(server, owner, 'Crashed', 10)
    const db = await openTestDatabase(database)
    try {
      const { dataTypeId } = codes
      const [{ organizationId } = { organizationId: '' }] = await db.system.query<{ organizationId: string }>(
        'SELECT organization_id AS "organizationId" FROM data_types WHERE id = $1',
        [dataTypeId],
      )
      await db.system.query(
        `INSERT INTO data_type_changes (organization_id, data_type_id, id, keys) VALUES ($1, $2, $3, '{code}')`,
        [organizationId, dataTypeId, newId()],
      )
      await db.system.query(
        `INSERT INTO data_keys (organization_id, data_type_id, field, value, record_id)
         SELECT $1, $2, 'code', value, $3 FROM unnest(ARRAY['X', 'C1']) value`,
        [organizationId, dataTypeId, newId()],
      )
      expect(await codes.add('X')).toBe(201)
      expect(await codes.add('C1')).toBe(201)
      const refused = await codes.change(true)
      expect([refused.status, refused.body.conflicts.count]).toEqual([409, 1])
      expect(await codes.remove('C1')).toBe(200)
      expect((await codes.change(true)).status).toBe(200)
      expect([await codes.add('X'), await codes.add('C1')]).toEqual([409, 409])
      const left = await db.system.query(
        'SELECT FROM data_type_changes WHERE data_type_id = $1 UNION ALL SELECT FROM data_type_touched WHERE data_type_id = $1',
        [dataTypeId],
      )
      expect(left).toEqual([])
    } finally {
      await db.close()
    }
  })

  it('of which two are made at once ends with one of them whole, and the other one told', async () => {
    const codes = await createCodes(server, owner, 'Twice', ROWS)
    const both = await Promise.all([codes.change(true), codes.change(true)])
    const statuses = both.map(({ status }) => status).sort()
    expect(statuses[0]).toBe(200)
    expect([200, 409]).toContain(statuses[1])
    expect(await codes.add('C1')).toBe(409)
  })
})

describe('A change of a data type, on the embedded database', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  let other: Client

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await openServer(database)
    owner = (await addOrganization(server, await signIn(server))).client
    other = (await addOrganization(server, await signIn(server))).client
  })
  afterAll(async () => {
    await server?.stop()
    await database?.remove()
  })
  let slowest = 1
  afterEach(() => {
    slowest = Math.max(slowest, slowness())
  })

  const make = async (path: string, body: object) => {
    const answer = await owner.post(path, body)
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(201)
    return answer.body.data
  }

  it('lets others in between while it looks through large records', async () => {
    const type = await make('/data-type', { name: 'Large', fields: fields() })
    const text = 'x'.repeat(10_000)
    const data = Object.fromEntries(keys.map(key => [key, text]))
    for (let record = 0; record < RECORDS; record++) await make('/data', { dataTypeId: type._id, data })

    let under = true
    const change = owner
      .put(`/data-type/${type._id}`, { name: 'Large', fields: fields({ required: true }) })
      .finally(() => {
        under = false
      })
    let between = 0
    for (; ; between++) {
      const answer = await other.post('/hub', { name: `Hub ${between}`, lat: 1, lng: 2 })
      expect(answer.status).toBe(201)
      if (!under) break
    }
    expect((await change).status).toBe(200)
    // One step reads a record, of 240 KB.
    expect(between).toBeGreaterThanOrEqual(4)
  })

  it('counts every record that contradicts, and names a hundred', async () => {
    const type = await make('/data-type', { name: 'Small', fields: [code(false)] })
    const file = `Code\n${'same\n'.repeat(103)}`
    expect(await importFile(server, owner, file, { dataTypeId: type._id })).toMatchObject({ created: 103 })
    const answer = await owner.put(`/data-type/${type._id}`, {
      name: 'Small',
      fields: fields({ required: true }),
    })
    expect(answer.status).toBe(409)
    expect(answer.body.conflicts.count).toBe(103)
    expect(new Set(answer.body.conflicts.ids).size).toBe(100)
  })

  describeUniqueness(() => ({ server, owner }), { rows: EMBEDDED_ROWS, released: EMBEDDED_ROWS })
  describeLinks(() => ({ server, owner }))

  it('has the session for a step at a time', async () => {
    const figures = await readFigures(server)
    for (const lane of ['background', 'requests']) {
      const { all, short } = countHolds(figures, lane, 0.25, Math.max(slowest, slowness()))
      expect([lane, short]).toEqual([lane, all])
    }
  })
})
