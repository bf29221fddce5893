import { expect, it } from 'vitest'
import { startPostgres } from '../services/postgres.ts'
import { type Client, createClient, createDevice, readHistory, type TestDevice } from '../support/client.ts'
import { postgresMissing } from '../support/database.ts'
import { newEmail, PASSWORD } from '../support/people.ts'
import { startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { createOwnPostgres } from './own-postgres.ts'

const HEAP_MIB = 96
const ORGANIZATIONS = 8
/** Requests of each organization, of 3 MiB each, while nothing can be stored. */
const REQUESTS = 6
const POINTS = 5_000

interface Sender {
  owner: Client
  device: TestDevice
  client: Client
  stored: number
}

it('A server with a small heap refuses requests that it has no room for, and stores every point that it acknowledges', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const postgres = await startPostgres({ own: true, timescaledb: false })
  if (!postgres.available || !postgres.control) throw new Error('There is no PostgreSQL of its own')
  const { database } = await createOwnPostgres(postgres.url, postgres.control)
  const server = await startServer(database, {
    ALLOW_SIGNUP: 'true',
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  })
  const senders: Sender[] = []
  const statuses = new Set<number>()
  for (let n = 0; n < ORGANIZATIONS; n++) {
    const place = { organizationName: `Of ${n}`, hubName: 'Hub', hubLat: 1, hubLng: 2 }
    const person = { name: 'Anna', email: newEmail(), password: PASSWORD }
    const { body } = await createClient(server, '').post('/auth/register', { ...person, ...place })
    const owner = createClient(server, body.token)
    const device = await createDevice(owner)
    senders.push({ owner, device, client: createClient(server, device.key), stored: 0 })
  }
  const attributes = { note: 'x'.repeat(400) }
  const send = async (sender: Sender, n: number) => {
    const begun = Date.now() - (n + 2) * 3_600_000
    const points = Array.from({ length: POINTS }, (_, at) => ({
      lat: 1,
      lng: 2,
      timestamp: begun + at,
      attributes,
    }))
    const { status } = await sender.client.post('/location-history/bulk', { points })
    expect([200, 429, 503]).toContain(status)
    statuses.add(status)
    if (status === 200) sender.stored += POINTS
    return status
  }

  postgres.control.freeze()
  const sent = senders.flatMap(sender => Array.from({ length: REQUESTS }, (_, n) => send(sender, n)))
  await pause(8_000)
  await until('a request is refused', () => statuses.has(503))
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  postgres.control.thaw()
  const answers = await Promise.all(sent)
  expect(answers).toContain(503)
  for (const sender of senders) await send(sender, REQUESTS)
  for (const { owner, device, stored } of senders) {
    const times = (await readHistory(owner, device.id)).map(({ timestamp }) => timestamp)
    // A point that was answered with 503 may have been stored later.
    expect(times.length).toBeGreaterThanOrEqual(stored)
    expect(new Set(times).size).toBe(times.length)
  }
  expect(await server.stop()).toBe(0)
  await database.remove()
  await postgres.stop()
})
