import { afterAll, beforeAll, expect } from 'vitest'
import type { Database } from '../../db/client.ts'
import { addApiKey, type TestKey } from './api-keys.ts'
import { inGroups, someOf } from './at-once.ts'
import { type Answer, type Client, signIn } from './client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase } from './database.ts'
import { importWithBadRow } from './imports.ts'
import { listOperations, type OpenApi, type Operation, readDocument } from './openapi.ts'
import { createMakers } from './organization-makers.ts'
import { addPerson, type Person } from './people.ts'
import { openServer, type Server } from './server.ts'
import { digestRows, IDENTIFIER, listAllIds, listEmails, listOneOfEach } from './tenant-rows.ts'
import { until } from './wait.ts'

/** Actors that are API keys, by the role that they have. */
const KEY = 'an API key of '
export const ROLES = [
  ...['Owner', 'Admin', 'Planner', 'Field user', 'Nothing'],
  ...[`${KEY}Owner`, `${KEY}Planner`],
]
/** Part of every name that the caller must not see. */
export const MARK = 'Xyzzy'
const IDENTIFIERS = new RegExp(IDENTIFIER, 'g')

/** Who calls, and what the role lacks. */
interface Actor {
  client: Client
  /** Whether it lacks the permission that the document names, or the operation is closed to API keys. */
  lacks: (operation: Operation) => boolean
}

/** What the tests of the wall between organizations share: two organizations with a record of every kind, and callers. */
export interface Walls {
  server: Server
  db: Database
  document: OpenApi
  operations: Operation[]
  makers: ReturnType<typeof createMakers>
  /** The callers' organization, and its records. */
  home: { client: Client; organizationId: string; own: Map<string, string> }
  /** The other organization, and its values that must not be seen. */
  other: { client: Client; organizationId: string }
  foreign: { values: string[]; kinds: Map<string, string>; ids: Set<string> }
  /** Somebody of a role with a valid session; an operation may have ended it, or deleted its organization. */
  actor(role: string): Promise<Actor>
}

/** The tests read the database beside the server, which PGlite does not allow. */
export function useWalls(): Walls {
  // Filled later, so that a file names it once and before anything runs.
  const walls = { actor } as Walls
  let database: TestDatabase
  let actors: Map<string, Person | TestKey>

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    const server = await openServer(database, { ALLOW_SIGNUP: 'true' })
    const db = await openTestDatabase(database)
    const document = await readDocument(server)
    const operations = listOperations(document).filter(
      ({ path, spec }) => path.startsWith('/api/v3/') && !spec.responses['101'] && path !== '/api/v3/docs',
    )
    const first = await signIn(server)
    const makers = createMakers({ server, db, document, operations, first })
    const other = await makers.build(MARK)
    Object.assign(walls, { server, db, document, operations, makers, other })
    await importWithBadRow(server, other.client, MARK)
    await withoutJobs()
    await buildHome()
    const points = await other.client.get('/location-histories?limit=1')
    const kinds = await listOneOfEach(db, other.organizationId)
    walls.foreign = {
      kinds,
      values: [
        ...kinds.values(),
        other.organizationId,
        points.body.data[0]._id,
        ...(await listEmails(db, other.organizationId)),
        MARK,
      ],
      ids: await listAllIds(db, other.organizationId),
    }
  })
  afterAll(async () => {
    await walls.db?.close()
    await walls.server?.stop()
    await database.remove()
  })

  /** Once the samples are created, nothing happens in the background: every later change comes from a request. */
  async function withoutJobs(): Promise<void> {
    await until('the sample data is made', async () => {
      const left = await walls.db.system.query(
        `SELECT id FROM jobs WHERE kind = 'sample-data' AND status IN ('queued', 'running')`,
      )
      return left.length === 0
    })
    await walls.server.stop()
    const env = { ALLOW_SIGNUP: 'true', ROLES: 'api,ingest,writer,live' }
    // The same object: clients continue with the new address.
    Object.assign(walls.server, await openServer(database, env))
  }

  async function buildHome(): Promise<void> {
    const { server, db, makers } = walls
    const built = await makers.build('Home')
    walls.home = { ...built, own: await listOneOfEach(db, built.organizationId) }
    const nothing = await built.client.post('/role', { name: 'Nothing', permissionDetails: [] })
    actors = new Map()
    for (const role of ['Owner', 'Admin', 'Planner', 'Field user'])
      actors.set(role, await addPerson(server, built.client, { role }))
    actors.set('Nothing', await addPerson(server, built.client, { roleId: nothing.body.data._id }))
    for (const role of ['Owner', 'Planner'])
      actors.set(`${KEY}${role}`, await addApiKey(server, built.client, { role }))
  }

  async function actor(role: string): Promise<Actor> {
    const clientOf = () => (actors.get(role) as Person | TestKey).client
    let answer = await clientOf().get('/user')
    if (answer.status !== 200) {
      await renew(role)
      answer = await clientOf().get('/user')
    }
    const { kind, permissionDetails } = answer.body.data as {
      kind: string
      permissionDetails: { permissionName: string }[]
    }
    const lacks = ({ spec }: Operation) => {
      const access = spec['x-permission'] as string
      if (kind === 'api-key' && spec['x-api-key'] === 'refused') return true
      return access.includes('/') && !permissionDetails.some(one => one.permissionName === access)
    }
    return { client: clientOf(), lacks }
  }

  async function renew(role: string): Promise<void> {
    const { server, home } = walls
    const person = actors.get(role) as Person | TestKey
    try {
      if (!('email' in person)) {
        const { client } = await actor('Owner')
        actors.set(role, await addApiKey(server, client, { role: role.slice(KEY.length) }))
        return
      }
      const { email, password } = person
      person.client = await signIn(server, { email, password, organizationId: home.organizationId })
    } catch {
      await buildHome()
    }
  }
  return walls
}

export function sendTo(
  client: Client,
  { method, path }: Operation,
  params: string,
  body?: unknown,
  query = '',
) {
  const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(params)).replace('/api/v3', '')
  const call = client[method as 'get' | 'post' | 'put' | 'patch' | 'delete']
  return method === 'get' ? client.get(`${filled}${query}`) : call(`${filled}${query}`, body)
}

/** The values of the other organization in an answer, except those that the request itself named. */
export function leaks({ foreign }: Walls, answer: Answer, sent: string, hidden = foreign.ids): string[] {
  const text = JSON.stringify(answer.body).toLowerCase()
  const named = sent.toLowerCase()
  const found = [...new Set(text.match(IDENTIFIERS))].filter(id => hidden.has(id) && !named.includes(id))
  if (text.includes(MARK.toLowerCase()) && !sent.includes(MARK)) found.push(MARK)
  return found
}

/** Collects faults, and names the operations during which the other organization changed. */
export async function watching(
  { db, other, operations }: Walls,
  work: (operation: Operation, report: (what: string) => void) => Promise<void>,
): Promise<void> {
  const problems: string[] = []
  let before = await digestRows(db, other.organizationId)
  for (const some of inGroups(operations, 90)) {
    for (const operation of some) await work(operation, what => problems.push(`${operation.name}: ${what}`))
    const after = await digestRows(db, other.organizationId)
    const changed = Object.keys(after).filter(table => after[table] !== before[table])
    if (changed.length > 0)
      problems.push(`one of ${some.map(({ name }) => name)} changed ${changed.join(', ')}`)
    before = after
  }
  expect(problems).toEqual([])
}

const camel = (text: string) => text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The record among `kinds` that an operation's path is about, if a kind has the name before the parameter. */
export function namedInPath({ path }: Operation, kinds: ReadonlyMap<string, string>): string | undefined {
  const [, segment = ''] = /([\w-]+)\/\{\w+\}/.exec(path) ?? []
  return kinds.get(`${camel(segment)}Id`) ?? kinds.get(`${camel(segment)}RecordId`)
}

/**
 * The values to try in a place: the record of the kind that belongs there, and one of `oneOf` others, different ones each
 * time. Others are missing records there. Where no kind is known, one of `orElse` of all: 1 is all.
 */
export function valuesFor(
  known: string | undefined,
  values: readonly string[],
  oneOf: number,
  orElse = 1,
): string[] {
  if (known === undefined) return someOf(values, orElse)
  return [known, ...someOf(values, oneOf).filter(value => value !== known)]
}
