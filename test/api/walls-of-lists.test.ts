import { describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { PERMISSIONS } from '../../src/http/permissions.ts'
import { forEach, someOf } from '../support/at-once.ts'
import { type Client, createClient } from '../support/client.ts'
import { usualKind } from '../support/database.ts'
import type { Operation } from '../support/openapi.ts'
import { addHub, addPerson } from '../support/people.ts'
import {
  bodySchema,
  createResolver,
  exampleBody,
  listReferences,
  refusesEach,
  withReference,
} from '../support/references.ts'
import { openScreen } from '../support/screen.ts'
import { listOneOfEach } from '../support/tenant-rows.ts'
import { until } from '../support/wait.ts'
import { leaks, MARK, namedInPath, ROLES, sendTo, useWalls, valuesFor, watching } from '../support/walls.ts'

/** Further parts of the wall that `walls.test.ts` tries: queries, bodies, and hubs within an organization. */
describe.runIf(usualKind() === 'postgres')('The wall between organizations', () => {
  const walls = useWalls()

  it.each(ROLES)('holds for every list and every query, for the role %s', async role => {
    const { document, foreign } = walls
    await watching(walls, async (operation, report) => {
      if (operation.path.includes('{')) return
      const { client, lacks } = await walls.actor(role)
      const isLacking = lacks(operation)
      const asked = (operation.spec.parameters ?? [])
        .filter(parameter => parameter.in === 'query')
        .flatMap(({ name }) => [
          [name, foreign.values.join(',')],
          [name, MARK],
        ])
        .map(pair => `?${new URLSearchParams([pair as [string, string]])}`)
      // Rows of another organization are hidden from all roles alike.
      const queries = ['', ...(role === 'Owner' ? asked : someOf(asked, isLacking ? 6 : 3))]
      const body = exampleBody(operation, document, walls.home.own)
      const ask = async (query: string, by = client) => {
        const answer = await sendTo(by, operation, '', body, query)
        if (isLacking && answer.status !== 403) report(`${query} answers ${answer.status}`)
        for (const leak of leaks(walls, answer, decodeURIComponent(query))) report(`${query} leaks ${leak}`)
      }
      if (operation.method === 'get') await forEach(queries, query => ask(query))
      // A change may end the session that the next request would use.
      else for (const query of queries) await ask(query, (await walls.actor(role)).client)
    })
  })

  it('holds for foreign identifiers in every place of a body that names a record', async () => {
    const { document, foreign } = walls
    let tried = 0
    await watching(walls, async (operation, report) => {
      const schema = bodySchema(operation)
      if (!schema) return
      for (const path of listReferences(schema, createResolver(document))) {
        const { client } = await walls.actor('Owner')
        const own = operation.path.includes('{') ? await ownRecordOf(client, operation) : ''
        if (own === null) continue
        const example = exampleBody(operation, document, walls.home.own)
        const name = path.filter(step => step !== 0).at(-1) as string
        const known = foreign.kinds.get(name.replace(/Ids$/, 'Id'))
        await forEach(valuesFor(known, foreign.values, 6), async value => {
          const body = withReference(example, schema, document, path, value)
          const answer = await sendTo(client, operation, own, body)
          tried++
          if (answer.status < 400 && !refusesEach(answer)) report(`takes ${value} at ${path.join('.')}`)
          for (const leak of leaks(walls, answer, JSON.stringify(body))) report(`leaks ${leak}`)
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
    const { operations, home } = walls
    const read = operations.find(({ method, path }) => method === 'get' && path === operation.path)
    let found: string | null = null
    for (const id of home.own.values())
      if (read && found === null && (await sendTo(client, read, id)).status === 200) found = id
    ownRecords.set(operation.path, found)
    return found
  }

  it('stands within an organization too: what is bound to a hub without access is 404', async () => {
    const { client: owner } = await walls.actor('Owner')
    const { server, db, document, operations, makers, home } = walls
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
        // An identifier of another kind is missing there.
        const named = namedInPath(operation, bound)
        const riders = named === bound.get('deviceId') ? [rides._id] : []
        for (const value of [...riders, ...valuesFor(named, values, 6)]) {
          const answer = await sendTo(client, operation, value, body)
          if (answer.status < 400) problems.push(`${operation.name} ${value}: ${answer.status}`)
          for (const leak of leaks(walls, answer, value, hidden))
            problems.push(`${operation.name} leaks ${leak}`)
        }
      } else if (operation.method === 'get' && operation.spec['x-permission'] !== 'view/audit') {
        // A user who may see the audit log sees all of it.
        const answer = await sendTo(client, operation, '')
        for (const leak of leaks(walls, answer, '', hidden)) problems.push(`${operation.name} leaks ${leak}`)
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
})
