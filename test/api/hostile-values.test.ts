import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { someOf } from '../support/at-once.ts'
import { type Attempt, chooseSent, describeAttempt, findProblem } from '../support/attempts.ts'
import { type Answer, type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import {
  forge,
  HOSTILE,
  hostileTo,
  isInTurn,
  listPlaces,
  NO_CURSORS,
  put,
  type Query,
  SHARE,
  TEXTS,
  toQuery,
  toText,
} from '../support/hostile.ts'
import { listOperations, type OpenApi, type Operation, readDocument } from '../support/openapi.ts'
import { createMakers } from '../support/organization-makers.ts'
import { addPerson, type Person } from '../support/people.ts'
import {
  bodySchema,
  createResolver,
  exampleBody,
  inADay,
  listReferences,
  type Path,
  refusedPaths,
  refusesEach,
  withReference,
} from '../support/references.ts'
import { openServer, type Server } from '../support/server.ts'
import { listOneOfEach } from '../support/tenant-rows.ts'
import { readValidators, type Validator } from '../support/validators.ts'
import { until } from '../support/wait.ts'

/** Other seeds find further faults: `SEED=7 npx vitest run test/api/hostile-values`. */
const SEED = Number(process.env.SEED ?? 1)
const AT_ONCE = 8

const FIELDS = ['number', 'text', 'location', 'date', 'boolean'].map(type => ({
  key: type,
  label: type,
  type,
}))
const place = (address: string) => ({ lat: 1, lng: 2, address })
const RECORDS = [
  {},
  { number: 1e308, text: 'ä'.repeat(10_000), location: place('\u{1f69a}'.repeat(250)), date: '0001-01-01' },
  { number: -1e308, text: '\u{1f69a}'.repeat(5_000), location: place('b'), boolean: true },
  { number: 5e-324, text: 'c', location: place('c') },
]

/**
 * Sends hostile values in every parameter and every place of a body that the OpenAPI document names, for every
 * operation: the answer has the envelope, and none is a failure of ours. A new route is covered without further code.
 * Values that the schemas reject are not sent, except one per operation. The test reads the database beside the server,
 * which PGlite does not allow.
 */
describe.runIf(usualKind() === 'postgres')('A hostile value', () => {
  let database: TestDatabase
  let server: Server
  let db: Database
  let document: OpenApi
  let operations: Operation[]
  let validators: Map<string, Validator>
  let own: Map<string, string>
  let owner: Person
  let organizationId: string
  const types: string[] = []

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    // Without jobs nothing is sent to the addresses of webhooks.
    server = await openServer(database, { ALLOW_SIGNUP: 'true', ROLES: 'api,ingest,writer,live' })
    db = await openTestDatabase(database)
    document = await readDocument(server)
    validators = await readValidators()
    operations = listOperations(document).filter(
      ({ path, spec }) => path.startsWith('/api/v3/') && !spec.responses['101'] && path !== '/api/v3/docs',
    )
    const first = await signIn(server)
    const built = await createMakers({ server, db, document, operations, first }).build('Home')
    organizationId = built.organizationId
    owner = await addPerson(server, built.client, { role: 'Owner' })
    own = await listOneOfEach(db, organizationId)
    own.set('roleId', (await built.client.get('/roles?sort=-createdAt')).body.data[0]._id)
    await fillFurther(built.client)
  })
  afterAll(async () => {
    await db.close()
    await server.stop()
    await database.remove()
  })

  /** A second page of every list, and records that are sorted by their own values. */
  async function fillFurther(client: Client): Promise<void> {
    const points = [{ lat: 1, lng: 2, timestamp: Date.now() - 60_000 }, { lat: 91 }, { lat: 92 }]
    const { body } = await client.post(`/device/${own.get('deviceId')}/rotate-key`)
    await createClient(server, body.data.key).post('/location-history/bulk', { points })
    await client.post('/location-history/bulk', { points })
    await db.system.query(
      `INSERT INTO geofence_events (id, organization_id, geofence_id, subject_id, at, lat, lng, event, shaped_at)
       SELECT gen_random_uuid(), $1, $2, $3, now() - n * interval '1 hour', 1, 2, 'entered', now() FROM generate_series(1, 2) n`,
      [organizationId, own.get('geofenceId'), own.get('deviceId')],
    )
    for (const name of ['First', 'Second']) {
      const type = await client.post('/data-type', { name, fields: FIELDS })
      types.push(type.body.data._id)
      for (const data of RECORDS) {
        const record = await client.post('/data', { dataTypeName: name, data })
        expect(record.status).toBe(201)
        own.set('dataRecordId', record.body.data._id)
      }
      const part = (name: string, value: string) =>
        `--b\r\ncontent-disposition: form-data; ${name}\r\n\r\n${value}\r\n`
      const parts = part('name="dataTypeName"', name) + part('name="file"; filename="a.csv"', 'text\nx\n')
      const headers = { 'content-type': 'multipart/form-data; boundary=b' }
      const link = { subjectId: own.get('deviceId'), subjectType: 'device', expiresAt: inADay() }
      own.set('trackingLinkId', (await client.post('/tracking-link', link)).body.data._id)
      const config = { name, dataTypeId: type.body.data._id, mapping: { text: 'Text' } }
      own.set('importConfigId', (await client.post('/import-config', config)).body.data._id)
      const exported = { dataTypeId: config.dataTypeId, format: 'json' }
      expect((await client.post('/data/export', exported)).status).toBe(200)
      expect((await client.post('/data/import', `${parts}--b--\r\n`, headers)).status).toBe(202)
    }
    // A job would create them.
    const deliveries = `INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event_id)
       SELECT gen_random_uuid(), $1, $2, id FROM webhook_events WHERE organization_id = $1 LIMIT 2`
    await db.system.query(deliveries, [organizationId, own.get('webhookId')])
  }

  /** The path of an operation with existing records. */
  function fill({ path }: Operation, replace: { [name: string]: string } = {}): string {
    return path
      .replace('/api/v3', '')
      .replaceAll(/([\w-]+)\/\{(\w+)\}/g, (_, before: string, name: string) => {
        const camel = before.replace(/-(\w)/g, (_match, letter: string) => letter.toUpperCase())
        const known = own.get(`${camel}Id`) ?? own.get(`${camel}RecordId`) ?? newId()
        return `${before}/${encodeURIComponent((replace[name] ?? known).toWellFormed())}`
      })
  }

  async function send({ operation, path, body }: Attempt): Promise<Answer> {
    const call = () => {
      const { client } = owner
      if (operation.method === 'get') return client.get(path)
      return client[operation.method as 'post' | 'put' | 'patch' | 'delete'](path, toText(body))
    }
    const { token } = owner.client
    const answer = await call()
    if (answer.status !== 401 || operation.spec['x-permission'] === 'public') return answer
    // An earlier attempt was valid, and moved the session to another organization or ended it.
    await renew(token)
    return call()
  }

  let renewing: Promise<void> = Promise.resolve()
  function renew(dead: string): Promise<void> {
    renewing = renewing.then(async () => {
      if (owner.client.token !== dead) return
      await until('signed in again, while attempts beside this may lock the account', async () => {
        await db.system.query('DELETE FROM login_failures')
        owner.client = await signIn(server, { ...owner, organizationId }).catch(() => owner.client)
        return owner.client.token !== dead
      })
    })
    return renewing
  }

  /** Checks all of them, and sends those that no schema rejects. */
  async function checkAll(attempts: readonly Attempt[]): Promise<string[]> {
    const { sent, problems } = chooseSent(attempts, validators)
    return [...problems, ...(await tryAll(sent))]
  }

  /** Sends all of them, some at once, and returns those with a wrong answer. */
  async function tryAll(attempts: readonly Attempt[]): Promise<string[]> {
    const problems: string[] = []
    const left = [...attempts]
    const work = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const problem = findProblem(await send(next))
        if (problem) problems.push(`${describeAttempt(next)}: ${problem}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return problems
  }

  const ofQuery = (operation: Operation) =>
    (operation.spec.parameters ?? []).filter(one => one.in === 'query')
  const ofPath = (operation: Operation) => (operation.spec.parameters ?? []).filter(one => one.in === 'path')
  const withBody = () =>
    operations.flatMap(operation => {
      const schema = bodySchema(operation)
      return schema ? [{ operation, schema, example: exampleBody(operation, document, own) }] : []
    })

  it('in a query fails in the envelope or matches nothing', async () => {
    const attempts = operations.flatMap(operation =>
      ofQuery(operation).flatMap(({ name, schema }) => {
        const names = schema?.type === 'object' ? [`${name}[name]`, `${name}[]`, name] : [name]
        return names.flatMap(key =>
          HOSTILE.map(value => ({
            operation,
            path: `${fill(operation)}?${toQuery({ [key]: value })}`,
          })),
        )
      }),
    )
    expect(attempts.length).toBeGreaterThan(10_000)
    expect(await checkAll(attempts)).toEqual([])
  })

  it('in a path is not there', async () => {
    const attempts = operations.flatMap(operation =>
      ofPath(operation).flatMap(({ name }) =>
        TEXTS.filter(isInTurn).map(value => ({
          operation,
          path: fill(operation, { [name]: value || ' ' }),
          body: exampleBody(operation, document, own),
        })),
      ),
    )
    expect(attempts.length).toBeGreaterThan(1_000 / SHARE)
    expect(await tryAll(attempts)).toEqual([])
  })

  it('in any place of a body fails in the envelope, or is accepted', async () => {
    const resolve = createResolver(document)
    const attempts = withBody().flatMap(({ operation, schema, example }) =>
      listPlaces(schema, resolve).flatMap(({ place, schema }) =>
        hostileTo(schema, resolve).map(value => ({
          operation,
          path: fill(operation),
          body: put(example, place, value),
        })),
      ),
    )
    expect(attempts.length).toBeGreaterThan(10_000)
    expect(await checkAll(attempts)).toEqual([])
  })

  it('for an identifier in a body is 400 with its path, at signing in, switching and opening 404', async () => {
    const resolve = createResolver(document)
    const problems: string[] = []
    for (const { operation, schema, example } of withBody()) {
      if (operation.spec['x-permission'] === 'public') continue
      for (const place of listReferences(schema, resolve)) {
        // One that is missing, and one that is none.
        for (const id of [...someOf(['', 'x', 'x'.repeat(5_000)], 3), newId()]) {
          const body = withReference(example, schema, document, place, id)
          const attempt = { operation, path: fill(operation), body }
          const answer = await send(attempt)
          const paths = refusedPaths(answer, place)
          const status = refusesEach(answer) ? 400 : answer.status
          const right = status === (/\/(switch|open)-organization$/.test(operation.path) ? 404 : 400)
          // Or the object around it: only permissions on data have data types.
          const named = paths.some((path: string) => `${place.join('.')}.`.startsWith(`${path}.`))
          if (!right || (status === 400 && !named))
            problems.push(`${describeAttempt(attempt)}: ${status} ${paths}`)
        }
      }
    }
    await db.system.query('DELETE FROM login_failures')
    const credentials = { email: owner.email, password: owner.password }
    const stranger = createClient(server, '')
    for (const id of ['', 'x', 'x'.repeat(5_000), newId()]) {
      const answer = await stranger.post('/auth/login', { ...credentials, organizationId: id })
      expect(answer.status, id).toBe(404)
    }
    expect(problems).toEqual([])
  })

  it('for an identifier or a word in a filter matches nothing', async () => {
    const problems: string[] = []
    for (const operation of operations.filter(({ method }) => method === 'get')) {
      const texts = ofQuery(operation).filter(
        ({ name, schema }) =>
          schema?.type === 'string' &&
          !(schema as { enum?: string[] }).enum &&
          !/^(search|sort|cursor|fields|from|to|bbox|dataTypeName|tags)$/.test(name),
      )
      for (const { name } of texts) {
        for (const value of [...someOf(['', ',', 'x', 'x,y', '0'], 2), newId()]) {
          const path = `${fill(operation)}?${toQuery({ [name]: value })}`
          const { status, body } = await send({ operation, path })
          if (status === 200 && body.data.length > 0) problems.push(`${operation.name} ${name}=${value}`)
        }
      }
    }
    expect(problems).toEqual([])
  })

  it('in a cursor is invalid, whatever the list and its order', async () => {
    const lists = operations.flatMap(operation => {
      const parameters = ofQuery(operation)
      if (!parameters.some(({ name }) => name === 'cursor')) return []
      const sorts = (parameters.find(({ name }) => name === 'sort')?.schema as { enum?: string[] })?.enum
      return (sorts?.filter(sort => !sort.startsWith('-')) ?? [null]).map(sort => ({
        operation,
        query: (sort ? { sort } : {}) as Query,
      }))
    })
    const data = operations.find(({ name }) => name === 'get /api/v3/data') as Operation
    for (const { key } of FIELDS) {
      const ofType = { dataTypeId: types[0] as string }
      lists.push({ operation: data, query: { ...ofType, sort: key } })
    }
    const attempts: Attempt[] = []
    const without: string[] = []
    for (const { operation, query } of lists) {
      const first = await send({ operation, path: `${fill(operation)}?${toQuery({ ...query, limit: 1 })}` })
      const cursor = first.body.pagination?.nextCursor
      if (typeof cursor !== 'string') without.push(`${operation.name} ${JSON.stringify(query)}`)
      for (const forged of forge(cursor)) {
        attempts.push({ operation, path: `${fill(operation)}?${toQuery({ ...query, cursor: forged })}` })
      }
    }
    expect(without).toEqual([])
    const [{ operation, query } = {} as (typeof lists)[0]] = lists
    for (const cursor of NO_CURSORS)
      attempts.push({ operation, path: `${fill(operation)}?${toQuery({ ...query, cursor })}` })
    expect(await tryAll(attempts)).toEqual([])
  })

  it('in a filter of a data type is invalid, or matches nothing', async () => {
    const operation = operations.find(({ name }) => name === 'get /api/v3/data') as Operation
    const attempts = FIELDS.flatMap(({ key }) =>
      HOSTILE.map(value => ({
        operation,
        path: `/data?${toQuery({ dataTypeId: types[0], [`filter[${key}]`]: value })}`,
      })),
    )
    expect(await tryAll(attempts)).toEqual([])
  })

  it('that is stored does not keep a list from being read to its end, in any order', async () => {
    for (const { key } of FIELDS) {
      for (const sort of [key, `-${key}`]) {
        const seen = new Set<string>()
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const query = toQuery({ dataTypeId: types[1], sort, limit: 1, ...(cursor ? { cursor } : {}) })
          const { status, body } = await owner.client.get(`/data?${query}`)
          expect(status, JSON.stringify(body)).toBe(200)
          for (const { _id } of body.data) seen.add(_id)
          cursor = body.pagination.nextCursor
        }
        expect(seen.size, sort).toBe(RECORDS.length)
      }
    }
  })

  it('of any kind, in several places at once', async () => {
    const resolve = createResolver(document)
    const value = fc.oneof(
      fc.constantFrom(...HOSTILE),
      fc.jsonValue(),
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.date({ noInvalidDate: false }).map(String),
    )
    const attempt = fc.constantFrom(...operations).chain(operation => {
      const schema = bodySchema(operation)
      const places = schema ? listPlaces(schema, resolve).map(({ place }) => place) : []
      const names = ofQuery(operation).map(({ name }) => name)
      return fc.record({
        operation: fc.constant(operation),
        query: names.length > 0 ? fc.dictionary(fc.constantFrom(...names), value) : fc.constant({}),
        body:
          places.length > 0
            ? fc
                .array(fc.tuple(fc.constantFrom<Path>(...places), value), { maxLength: 4 })
                .map(changes =>
                  changes.reduce<unknown>(
                    (body, [place, leaf]) => put(body, place, leaf),
                    exampleBody(operation, document, own),
                  ),
                )
            : fc.constant(undefined),
      })
    })
    const harmless = (operation: Operation) =>
      operation.method !== 'delete' && (ofQuery(operation).length > 0 || bodySchema(operation) !== undefined)
    await fc.assert(
      fc.asyncProperty(attempt, async ({ operation, query, body }) => {
        if (!harmless(operation)) return
        const path = `${fill(operation)}?${toQuery(query)}`
        expect(await tryAll([{ operation, path, body }])).toEqual([])
      }),
      { numRuns: 300, seed: SEED },
    )
  })
})
