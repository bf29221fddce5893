import { createSecretKey } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { PERMISSIONS } from '../../src/http/permissions.ts'
import { forEach, inTwelves, someOf } from '../support/at-once.ts'
import { type Answer, type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { importWithBadRow } from '../support/imports.ts'
import { listOperations, type OpenApi, type Operation, readDocument } from '../support/openapi.ts'
import { createMakers } from '../support/organization-makers.ts'
import { addHub, addPerson, type Person } from '../support/people.ts'
import {
  bodySchema,
  createResolver,
  exampleBody,
  listReferences,
  refusesEach,
  withReference,
} from '../support/references.ts'
import { openScreen, tryUpgrade } from '../support/screen.ts'
import { openServer, type Server } from '../support/server.ts'
import { digestRows, listAllIds, listEmails, listOneOfEach } from '../support/tenant-rows.ts'
import { pause, until } from '../support/wait.ts'

const SECRET = 'a secret of thirty-two characters'
/** Part of every name that the caller must not see. */
const MARK = 'Xyzzy'

/**
 * The wall between organizations: every operation of the OpenAPI document is called with every kind of token, and with identifiers of
 * another organization wherever a parameter or a body names a record. Nothing leaks, nothing changes. No route is named here, so
 * a new one is covered too. The test reads the database beside the server, which PGlite does not allow.
 */
describe.runIf(usualKind() === 'postgres')('The wall between organizations', () => {
  let database: TestDatabase
  let server: Server
  let db: Database
  let document: OpenApi
  let operations: Operation[]
  let first: Client
  let makers: ReturnType<typeof createMakers>

  /** The callers' organization, and its records. */
  let home: { client: Client; organizationId: string; own: Map<string, string> }
  let actors: Map<string, Person>
  /** The other organization, and its values that must not be seen. */
  let other: { client: Client; organizationId: string }
  let foreign: { values: string[]; ids: Set<string> }

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    server = await openServer(database, { ALLOW_SIGNUP: 'true' })
    db = await openTestDatabase(database)
    document = await readDocument(server)
    operations = listOperations(document).filter(
      ({ path, spec }) => path.startsWith('/api/v3/') && !spec.responses['101'] && path !== '/api/v3/docs',
    )
    first = await signIn(server)
    makers = createMakers({ server, db, document, operations, first })
    other = await makers.build(MARK)
    await importWithBadRow(server, other.client, MARK)
    await withoutJobs()
    await buildHome()
    const points = await other.client.get('/location-histories?limit=1')
    foreign = {
      values: [
        ...(await listOneOfEach(db, other.organizationId)).values(),
        other.organizationId,
        points.body.data[0]._id,
        ...(await listEmails(db, other.organizationId)),
        MARK,
      ],
      ids: await listAllIds(db, other.organizationId),
    }
  })
  afterAll(async () => {
    await db.close()
    await server.stop()
    await database.remove()
  })

  /** Once the samples are created, nothing happens in the background: every later change comes from a request. */
  async function withoutJobs(): Promise<void> {
    await until('the sample data is made', async () => {
      const left = await db.system.query(
        `SELECT id FROM jobs WHERE kind = 'sample-data' AND status IN ('queued', 'running')`,
      )
      return left.length === 0
    })
    await server.stop()
    const env = { ALLOW_SIGNUP: 'true', ROLES: 'api,ingest,writer,live' }
    // The same object: clients continue with the new address.
    Object.assign(server, await openServer(database, env))
  }

  async function buildHome(): Promise<void> {
    const built = await makers.build('Home')
    home = { ...built, own: await listOneOfEach(db, built.organizationId) }
    const nothing = await built.client.post('/role', { name: 'Nothing', permissionDetails: [] })
    actors = new Map()
    for (const role of ['Owner', 'Admin', 'Planner', 'Field user'])
      actors.set(role, await addPerson(server, built.client, { role }))
    actors.set('Nothing', await addPerson(server, built.client, { roleId: nothing.body.data._id }))
  }

  /** A role's client with a valid session; an operation may have ended it, or deleted its organization. */
  async function actor(role: string): Promise<Client> {
    const person = actors.get(role) as Person
    if ((await person.client.get('/user')).status === 200) return person.client
    try {
      const { email, password } = person
      person.client = await signIn(server, { email, password, organizationId: home.organizationId })
      return person.client
    } catch {
      await buildHome()
      return (actors.get(role) as Person).client
    }
  }

  const send = (client: Client, { method, path }: Operation, params: string, body?: unknown, query = '') => {
    const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(params)).replace('/api/v3', '')
    const call = client[method as 'get' | 'post' | 'put' | 'patch' | 'delete']
    return method === 'get' ? client.get(`${filled}${query}`) : call(`${filled}${query}`, body)
  }

  /** The values of the other organization in an answer, except those that the request itself named. */
  function leaks(answer: Answer, sent: string, hidden = foreign.ids): string[] {
    const text = JSON.stringify(answer.body).toLowerCase()
    const found = [...hidden].filter(id => text.includes(id) && !sent.toLowerCase().includes(id))
    if (text.includes(MARK.toLowerCase()) && !sent.includes(MARK)) found.push(MARK)
    return found
  }

  /** Collects faults, and names the operations during which the other organization changed. */
  async function watching(work: (operation: Operation, report: (what: string) => void) => Promise<void>) {
    const problems: string[] = []
    let before = await digestRows(db, other.organizationId)
    for (const some of inTwelves(operations)) {
      for (const operation of some) await work(operation, what => problems.push(`${operation.name}: ${what}`))
      const after = await digestRows(db, other.organizationId)
      const changed = Object.keys(after).filter(table => after[table] !== before[table])
      if (changed.length > 0)
        problems.push(`one of ${some.map(({ name }) => name)} changed ${changed.join(', ')}`)
      before = after
    }
    expect(problems).toEqual([])
  }

  it('is tried with records of every kind', async () => {
    const kinds = await listOneOfEach(db, other.organizationId)
    const expected = [
      ...['userId', 'roleId', 'hubId', 'teamId', 'flowId', 'deviceId', 'vehicleId', 'webhookId'],
      ...['taskId', 'scheduleId', 'trackingLinkId', 'dataTypeId', 'dataRecordId', 'importConfigId'],
    ]
    expect([...kinds.keys()]).toEqual(expect.arrayContaining(expected))
    expect(foreign.ids.size).toBeGreaterThan(20)
    // The other organization sees its own records: the mark is found where it may be.
    const devices = await other.client.get('/devices')
    expect(leaks(devices, '').length).toBeGreaterThan(1)
  })

  it('holds for every token that is none: 401, and nothing changes', async () => {
    const sign = (claims: object, secret = SECRET, expires = '1 h') =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime(expires)
        .sign(createSecretKey(Buffer.from(secret)))
    const decode = (token: string) =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const { exp: _exp, ...claims } = decode(other.client.token)
    const revoked = await addPerson(server, other.client)
    await revoked.client.post('/auth/logout')
    const suspended = await addPerson(server, other.client)
    await other.client.patch(`/user/${suspended.userId}`, { status: 'suspended' })
    const tokens: [string, string][] = [
      ['none', ''],
      ['garbage', 'garbage'],
      ['forged', await sign(claims, 'another secret of thirty-two characters')],
      ['expired', await sign(claims, SECRET, '-1 s')],
      ['of another organization by its claim', await sign({ ...claims, org: home.organizationId })],
      ['revoked', revoked.client.token],
      ['of a suspended user', suspended.client.token],
    ]
    const values = [...(await listOneOfEach(db, other.organizationId)).values()]
    foreign.ids = await listAllIds(db, other.organizationId)
    await watching(async (operation, report) => {
      if (operation.spec['x-permission'] === 'public') return
      const body = exampleBody(operation, document, home.own)
      const attempts = tokens.flatMap(([kind, token]) =>
        (operation.path.includes('{') ? someOf(values) : ['']).map(params => ({ kind, token, params })),
      )
      await forEach(attempts, async ({ kind, token, params }) => {
        const answer = await send(createClient(server, token), operation, params, body)
        if (answer.status !== 401) report(`${kind} token: ${answer.status}`)
        for (const leak of leaks(answer, params)) report(`${kind} token leaks ${leak}`)
      })
    })
  })

  it("holds for a device's key, which opens what takes points alone", async () => {
    const device = await createDevice(home.client)
    const client = createClient(server, device.key)
    await watching(async (operation, report) => {
      if (operation.spec['x-permission'] === 'public') return
      const body = exampleBody(operation, document, home.own)
      await forEach(operation.path.includes('{') ? foreign.values : [''], async params => {
        const answer = await send(client, operation, params, body)
        const takesPoints = /location-history\/bulk|\/ingest\//.test(operation.path)
        if (!takesPoints && answer.status !== 403) report(`${answer.status}`)
        for (const leak of leaks(answer, params)) report(`leaks ${leak}`)
      })
    })
  })

  it.each(['Owner', 'Admin', 'Planner', 'Field user', 'Nothing'])(
    'holds for foreign identifiers in every path, for the role %s',
    async role => {
      await watching(async (operation, report) => {
        if (!operation.path.includes('{')) return
        const client = await actor(role)
        const lacks = await isLacking(client, operation)
        const body = exampleBody(operation, document, home.own)
        const nothing = await send(client, operation, newId(), body)
        const values = role === 'Owner' ? foreign.values : someOf(foreign.values, lacks ? 6 : 2)
        await forEach(values, async value => {
          const answer = await send(client, operation, value, body)
          for (const leak of leaks(answer, value)) report(`${value} leaks ${leak}`)
          if (lacks ? answer.status !== 403 : ![400, 404].includes(answer.status))
            report(`${value} answers ${answer.status}`)
          // Records of another organization and missing ones get the same answer.
          const told = [answer.status, answer.body.message].join()
          if (told !== [nothing.status, nothing.body.message].join())
            report(`${value} is told apart: ${told}`)
        })
      })
    },
  )

  it.each(['Owner', 'Admin', 'Planner', 'Field user', 'Nothing'])(
    'holds for every list and every query, for the role %s',
    async role => {
      await watching(async (operation, report) => {
        if (operation.path.includes('{')) return
        const lacks = await isLacking(await actor(role), operation)
        const queries = (operation.spec.parameters ?? [])
          .filter(parameter => parameter.in === 'query')
          .flatMap(({ name }) => [
            [name, foreign.values.join(',')],
            [name, MARK],
          ])
          .map(pair => `?${new URLSearchParams([pair as [string, string]])}`)
        const body = exampleBody(operation, document, home.own)
        const ask = async (query: string) => {
          const answer = await send(await actor(role), operation, '', body, query)
          if (lacks && answer.status !== 403) report(`${query} answers ${answer.status}`)
          for (const leak of leaks(answer, decodeURIComponent(query))) report(`${query} leaks ${leak}`)
        }
        if (operation.method === 'get') await forEach(['', ...queries], ask)
        // A change may end the session that the next request would use.
        else for (const query of ['', ...queries]) await ask(query)
      })
    },
  )

  it('holds for foreign identifiers in every place of a body that names a record', async () => {
    let tried = 0
    await watching(async (operation, report) => {
      const schema = bodySchema(operation)
      if (!schema) return
      for (const path of listReferences(schema, createResolver(document))) {
        const client = await actor('Owner')
        const own = operation.path.includes('{') ? await ownRecordOf(client, operation) : ''
        if (own === null) continue
        const example = exampleBody(operation, document, home.own)
        await forEach(foreign.values, async value => {
          const body = withReference(example, schema, document, path, value)
          const answer = await send(client, operation, own, body)
          tried++
          if (answer.status < 400 && !refusesEach(answer)) report(`takes ${value} at ${path.join('.')}`)
          for (const leak of leaks(answer, JSON.stringify(body))) report(`leaks ${leak}`)
        })
      }
    })
    expect(tried).toBeGreaterThan(50)
  })

  /** A record of the own organization for an operation on one: the one that can be read. */
  const ownRecords = new Map<string, string | null>()
  async function ownRecordOf(client: Client, operation: Operation): Promise<string | null> {
    const known = ownRecords.get(operation.path)
    if (known !== undefined) return known
    const read = operations.find(({ method, path }) => method === 'get' && path === operation.path)
    let found: string | null = null
    for (const id of home.own.values())
      if (read && found === null && (await send(client, read, id)).status === 200) found = id
    ownRecords.set(operation.path, found)
    return found
  }

  /** Whether the caller's role lacks the permission that the document names. */
  async function isLacking(client: Client, { spec }: Operation): Promise<boolean> {
    const access = spec['x-permission'] as string
    const { permissionDetails } = (await client.get('/user')).body.data as {
      permissionDetails: { permissionName: string }[]
    }
    return access.includes('/') && !permissionDetails.some(one => one.permissionName === access)
  }

  it('stands within an organization too: what is bound to a hub without access is 404', async () => {
    const owner = await actor('Owner')
    const hubId = await addHub(owner, 'Bound hub')
    await makers.fill(owner, home.organizationId, 'Bound', hubId)
    const bound = await listOneOfEach(db, home.organizationId, hubId)
    expect([...bound.keys()]).toEqual(
      expect.arrayContaining(['deviceId', 'teamId', 'vehicleId', 'taskId', 'scheduleId']),
    )
    const all = PERMISSIONS.map(permissionName => ({ permissionName }))
    const everything = await owner.post('/role', { name: `Everything ${newId()}`, permissionDetails: all })
    const { client } = await addPerson(server, owner, { roleId: everything.body.data._id })
    const rides = await makers.addRider(owner, home.organizationId, 'Bound', hubId)
    expect((await owner.get(`/geofence-events?subjectId=${rides._id}`)).body.data).toHaveLength(1)
    const values = [hubId, rides._id, ...bound.values()]
    const hidden = new Set(values)
    const problems: string[] = []
    for (const operation of operations) {
      const body = exampleBody(operation, document, home.own)
      if (operation.path.includes('{')) {
        for (const value of values) {
          const answer = await send(client, operation, value, body)
          if (answer.status < 400) problems.push(`${operation.name} ${value}: ${answer.status}`)
          for (const leak of leaks(answer, value, hidden)) problems.push(`${operation.name} leaks ${leak}`)
        }
      } else if (operation.method === 'get' && operation.spec['x-permission'] !== 'view/audit') {
        // A user who may see the audit log sees all of it.
        const answer = await send(client, operation, '')
        for (const leak of leaks(answer, '', hidden)) problems.push(`${operation.name} leaks ${leak}`)
      }
    }
    expect(problems).toEqual([])

    const screen = await openScreen(server, client.token)
    const own = (await owner.post('/device', { name: 'Seen' })).body.data
    const points = [{ lat: 8, lng: 8, timestamp: Date.now() }]
    for (const { key } of [rides, own])
      await createClient(server, key).post('/location-history/bulk', { points })
    // It was sent after the other point, so that one has been skipped by now.
    await until('the point of another', () => screen.positions.has(own._id))
    expect(JSON.stringify(screen.messages)).not.toMatch(new RegExp(`Bound|${rides._id}`))
    screen.cut()
  })

  describe('on live streams', () => {
    const streams = () =>
      listOperations(document).filter(({ path, spec }) => spec.responses['101'] && path !== '/mqtt')

    it('opens to no token that is none, and to no foreign identifier', async () => {
      const device = await createDevice(home.client)
      const revoked = await addPerson(server, home.client)
      await revoked.client.post('/auth/logout')
      const nothing = await actor('Nothing')
      const problems: string[] = []
      for (const { path, name } of streams()) {
        for (const token of ['', 'garbage', revoked.client.token, device.key, nothing.token]) {
          for (const value of path.includes('{') ? foreign.values : ['']) {
            const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(value))
            const status = await tryUpgrade(server, filled, token)
            if (![401, 403, 404].includes(status)) problems.push(`${name} ${value}: ${status}`)
          }
        }
      }
      expect(problems).toEqual([])
    })

    it.each(['Owner', 'Admin', 'Planner', 'Field user'])(
      'shows %s nothing of another organization, whatever it asks for',
      async role => {
        const client = await actor(role)
        const device = await createDevice(other.client, `${MARK} moving`)
        const { _id: ownId } = (await client.get('/user')).body.data
        const ids = [...foreign.values, device.id]
        const filters = [undefined, { subjectIds: ids }, { hubIds: ids }, { teamIds: ids }, {}]
        const screens = await Promise.all(filters.map(filter => openScreen(server, client.token, { filter })))
        const points = () => ({ points: [{ lat: 3, lng: 4, timestamp: Date.now() }] })
        await createClient(server, device.key).post('/location-history/bulk', points())
        await client.post('/location-history/bulk', points())
        // The own point was sent after the foreign one, so that one has been skipped by now.
        await until('the own point', () => screens[0]?.positions.has(ownId) ?? false)
        await pause(300)
        for (const screen of screens) {
          const text = JSON.stringify(screen.messages)
          expect(text).not.toContain(MARK)
          for (const id of [...foreign.ids, device.id]) expect(text.includes(id), id).toBe(false)
          screen.cut()
        }
      },
    )
  })
})
