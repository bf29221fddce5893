import { expect } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { type Client, createClient, createDevice } from './client.ts'
import { addConnection, readUnknown, traccarFix } from './connections.ts'
import { importFile } from './imports.ts'
import { addPerson, roleId } from './people.ts'
import type { Server } from './server.ts'
import { until } from './wait.ts'

/** Something of everything that people and devices make. */
export async function fill(owner: Client, server: Server): Promise<void> {
  const create = async (path: string, body: object, status = 201) => {
    const answer = await owner.post(path, body)
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBe(status)
    return answer.body.data
  }
  const hubId = (await create('/hub', { name: 'Hub "one"\n\\', lat: 1.1, lng: 2.2 }))._id
  const person = await addPerson(server, owner, { hubId: [hubId] })
  const teamId = (await create('/team', { name: 'Team', hubId, memberIds: [person.userId] }))._id
  const vehicleId = (await create('/vehicle', { name: 'Van', hubId, tags: ['a', 'b "c"'] }))._id
  const device = await createDevice(owner, 'Mounted')
  expect((await owner.patch(`/device/${device.id}`, { vehicleId })).status).toBe(200)
  await create('/geofence', {
    name: 'Yard',
    shape: { type: 'circle', center: { lat: 1, lng: 2 }, radius: 500 },
  })
  for (let n = 0; n < 6; n++) await create('/task', { name: `Task ${n}`, hubId, teamId, vehicleId })
  // More than are read and written at once.
  const points = Array.from({ length: 5_200 }, (_, n) => ({
    ...{
      lat: 1 + n / 1e4,
      lng: 2,
      timestamp: Date.now() - 20 * 86_400_000 + n * 60_000,
      speed: n / 7,
      attributes: { n },
    },
  }))
  for (let from = 0; from < points.length; from += 1_000) {
    const sent = points.slice(from, from + 1_000)
    expect(
      (await createClient(server, device.key).post('/location-history/bulk', { points: sent })).status,
    ).toBe(200)
  }
  const expiresAt = new Date(Date.now() + 3_600_000)
  await create('/tracking-link', { subjectId: device.id, subjectType: 'device', expiresAt })
  await owner.post('/users/invite', {
    email: 'invited@example.com',
    name: 'Invited',
    roleId: await roleId(owner, 'Planner'),
  })
  const fields = [
    { key: 'name', label: 'Name', type: 'text' },
    { key: 'code', label: 'Code', type: 'number', unique: true },
  ]
  const dataTypeId = (await create('/data-type', { name: 'Visit', fields }))._id
  await create('/webhook', { url: `${server.url}/none`, events: ['data-source-created'] })
  for (let n = 0; n < 50; n++)
    await create('/data', { dataTypeId, data: { name: `Ada ${n} "the first"\n\\ ü`, code: n } })
  await create('/data/export', { dataTypeId, format: 'json' }, 202)
  const exports = async () => (await owner.get('/tasks/export-log')).body.data
  await until('the file is there', async () => (await exports())[0]?.status === 'completed')
  await create('/task/schedule', { name: 'Daily', hubId })
  await create('/import-config', { name: 'Ours', resource: 'data', dataTypeId, mapping: { name: 'Name' } })
  // The second row has no number.
  await importFile(server, owner, 'Name,Code\nEve,100\nFay,many', { dataTypeId })
  await fillTrackers(owner, server, create)
}

/** What trackers of other systems bring along, and what is only asked for. */
async function fillTrackers(
  owner: Client,
  server: Server,
  create: (path: string, body: object, status?: number) => Promise<{ _id: string }>,
): Promise<void> {
  const { _id } = await create('/device', { name: 'Referenced', references: ['imei-1'] })
  await create(`/device/${_id}/command`, { name: 'locate', payload: {} })
  const device = await createDevice(owner, 'Traced')
  const bad = await createClient(server, device.key).post('/location-history/bulk', {
    points: [{ lat: 100, lng: 0 }],
  })
  expect(bad.status).toBe(400)
  const pathOf = (name: string) => ({ from: [`$.payload.${name}`] })
  const profile = { topic: 'own/#', fields: { lat: pathOf('a'), lng: pathOf('b') } }
  await create('/tracker-profile', { name: 'Own', ...profile })
  const connection = await addConnection(owner, { kind: 'http' })
  const answer = await fetch(`${server.url}/api/v3/ingest/connection/${connection._id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${connection.key}` },
    body: traccarFix('unknown-1', Date.now() - 60_000),
  })
  expect(answer.status).toBe(200)
  await until('it is seen', async () => (await readUnknown(owner, connection)).size === 1)
  await until('its message is kept', async () => {
    return (await owner.get(`/connection/${connection._id}/messages`)).body.data.length === 1
  })
}

/** Work of the server that is under way, which requests alone do not leave behind. Returns an import that waits. */
export async function fillWork(db: Database, organizationId: string): Promise<string> {
  const write = (text: string, ...values: unknown[]) =>
    db.system.query<{ id: string }>(text, [organizationId, ...values])
  await write(
    `INSERT INTO geofence_spans (organization_id, changed_from, changed_to, subject_key)
     SELECT organization_id, now() - interval '1 hour', now(), key FROM subjects WHERE organization_id = $1 LIMIT 1`,
  )
  await write(
    `INSERT INTO jobs (id, organization_id, kind, unique_key, run_at) VALUES ($2::uuid, $1, 'export', $3, 'infinity')`,
    newId(),
    newId(),
  )
  await write(
    `INSERT INTO device_traces (organization_id, device_id, kind, first_at, last_at, count)
     SELECT organization_id, id, 'wrong-key', now(), now(), 1 FROM devices WHERE organization_id = $1 LIMIT 1`,
  )
  await write(
    `UPDATE imports SET undo = '{"status": "processing", "finishedAt": null}' WHERE organization_id = $1`,
  )
  await write(`UPDATE invitations SET mail = 'waiting' WHERE organization_id = $1`)
  const [waiting] = await write(
    `INSERT INTO imports SELECT (jsonb_populate_record(i, jsonb_build_object('id', $2::uuid, 'status', 'queued', 'undo', null))).*
     FROM imports i WHERE organization_id = $1 LIMIT 1 RETURNING id`,
    newId(),
  )
  return waiting?.id as string
}
