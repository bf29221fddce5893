import { type Database, newId } from '../../db/client.ts'
import { type Client, createClient, createDevice } from './client.ts'
import type { OpenApi, Operation } from './openapi.ts'
import { addOrganization, addPerson } from './people.ts'
import {
  bodySchema,
  createResolver,
  exampleBody,
  listReferences,
  refusesEach,
  withReference,
} from './references.ts'
import type { Server } from './server.ts'
import { listOneOfEach } from './tenant-rows.ts'

/** Creates organizations with a record of every kind that the document says how to create. */
export function createMakers(given: {
  server: Server
  db: Database
  document: OpenApi
  operations: readonly Operation[]
  /** A client that may invite the founders. */
  first: Client
}) {
  const { server, db, document, operations, first } = given

  /** An organization with a record of every kind that the examples of the document create. */
  async function build(name: string): Promise<{ client: Client; organizationId: string }> {
    const founder = await addPerson(server, first, { role: 'Admin' })
    const { client, organizationId } = await addOrganization(server, founder.client, {
      organizationName: `${name} organization`,
      hubName: `${name} hub`,
    })
    await addPerson(server, client)
    await fill(client, organizationId, name)
    const device = await createDevice(client, `${name} tracker`)
    const timestamp = Date.now() - 60_000
    await createClient(server, device.key).post('/location-history/bulk', {
      points: [{ lat: 1, lng: 2, timestamp }, { lat: 91 }],
    })
    return { client, organizationId }
  }

  /** Creates one of each kind, in two rounds: records that refer to others come after them. */
  async function fill(client: Client, organizationId: string, name: string, hubId?: string): Promise<void> {
    for (const _round of [1, 2]) {
      const own = await listOneOfEach(db, organizationId)
      for (const operation of operations.filter(isCreation)) {
        const schema = bodySchema(operation)
        let body = exampleBody(operation, document, own)
        if (schema && hubId && createResolver(document)(schema).properties?.hubId?.type !== 'array') {
          if (listReferences(schema, createResolver(document)).some(path => path.join() === 'hubId'))
            body = withReference(body, schema, document, ['hubId'], hubId)
        }
        const named = body as { name?: string; email?: string }
        if (named?.name) named.name = `${name} ${operation.path} ${newId()}`
        if (named?.email) named.email = `${name}-${newId()}@example.com`.toLowerCase()
        const answer = await client.post(operation.path.replace('/api/v3', ''), body)
        // A record that was not created covers nothing.
        if (answer.status >= 400 || refusesEach(answer))
          throw new Error(`${operation.name} refuses its example: ${JSON.stringify(answer.body)}`)
        // Later examples refer to this record.
        own.set(idName(operation), answer.body.data?._id ?? own.get(idName(operation)))
      }
    }
  }
  /** The name by which bodies refer to the record of an operation: `dataTypeId`. */
  const idName = ({ path }: Operation) =>
    `${path.replace(/.*\//, '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Id`
  const isCreation = ({ method, path, spec }: Operation) =>
    method === 'post' &&
    /^(create|export)\/(?!organization)/.test(spec['x-permission'] ?? '') &&
    !path.includes('{')

  /**
   * A device without a hub on a vehicle that has one, and its crossing of a geofence that everybody sees: both are
   * visible to those who see the vehicle.
   */
  async function addRider(
    client: Client,
    organizationId: string,
    name: string,
    hubId: string,
  ): Promise<{ _id: string; key: string }> {
    const rider = (await client.post('/device', { name: `${name} rider` })).body.data
    await client.post('/vehicle', { name: `${name} van`, hubId, deviceId: rider._id })
    const shape = { type: 'circle', center: { lat: 8, lng: 8 }, radius: 500 }
    const fence = (await client.post('/geofence', { name: 'Around it', shape })).body.data
    const points = [{ lat: 8, lng: 8, timestamp: Date.now() }]
    await createClient(server, rider.key).post('/location-history/bulk', { points })
    await db.system.query(
      `INSERT INTO geofence_events (id, organization_id, geofence_id, subject_id, event, at, lat, lng, shaped_at)
       VALUES ($1, $2, $3, $4, 'entered', now(), 8, 8, now())`,
      [newId(), organizationId, fence._id, rider._id],
    )
    return rider
  }

  return { build, fill, addRider }
}
