import { readdirSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen } from '../support/screen.ts'
import { type ServerProcess, startRefused, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { countAcknowledged, startPublisher } from './publisher.ts'

describe('The embedded server', () => {
  let database: TestDatabase
  /** Every test leaves a running server behind, because a start takes seconds. */
  let server: ServerProcess
  /** The output of the first server. */
  let beginning: string
  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await startServer(database)
    beginning = server.output.stdout
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  it('is ready on one line of standard output, and answers health, readiness and metrics', async () => {
    expect(server.output.stdout.split('\n')).toContain(
      `fieldline ready ${server.url} mqtt://127.0.0.1:${server.mqttPort}`,
    )
    for (const path of ['/health', '/ready', '/metrics'])
      expect((await fetch(server.url + path)).status, path).toBe(200)
  })

  it('creates the first account once, says how to begin, and finds everything again', async () => {
    const device = await createDevice(await signIn(server))
    const client = await connectDevice(server, device)
    await publish(client, device, { lat: 1, lng: 2, timestamp: Date.now() - 1000 })
    await client.endAsync()
    const { token } = await signIn(server)
    expect(await server.stop()).toBe(0)
    server = await startServer(database)

    expect(beginning).toContain('The first account is owner@example.com')
    expect(beginning).toMatch(/Open http:\/\/127\.0\.0\.1:\d+ in a browser and sign in\./)
    expect(server.output.stdout).not.toContain('first account')
    // The token of the first server is still valid.
    const authorization = `Bearer ${token}`
    expect((await fetch(`${server.url}/api/v3/user`, { headers: { authorization } })).status).toBe(200)
    expect(await readHistory(await signIn(server), device.id)).toHaveLength(1)
  })

  it('lets no second process onto its directory, and takes it over from one that was killed', async () => {
    const refused = await startRefused(database)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/is in use by process \d+ .* DATA_DIR/)
    await server.kill9()
    const lock = () => readdirSync(database.dataDir).filter(name => name.startsWith('postgres.lock'))
    const held = lock()
    server = await startServer(database)
    expect(lock()).not.toEqual(held)
  })

  it('drains on SIGTERM: what was acknowledged is there, and screens are told that it goes', async () => {
    const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
    const owner = await signIn(server)
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token)
    const publisher = startPublisher(() => server.mqttPort, device, 1)
    await until('it is under load', () => countAcknowledged([publisher]) > 20)
    expect(await server.stop()).toBe(0)
    expect((await screen.closed).code).toBe(1001)
    server = await startServer(database, ports)
    await publisher.finish()
    const report = await checkHistories(await signIn(server), [publisher])
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
    expect(report.acknowledged).toBeGreaterThan(20)
  })
})

describe('An embedded server of its own', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await createTestDatabase('pglite')
  })
  afterEach(() => database.remove())

  it('prints a password that it generated, and only then', async () => {
    const server = await startServer(database, { FIELDLINE_OWNER_PASSWORD: '' })
    const password = /its password (\S+) \(shown once\)/.exec(server.output.stdout)?.[1] as string
    await signIn(server, { email: 'owner@example.com', password })
    await server.stop()
  })

  it('says everything that is wrong in the configuration at once', async () => {
    const refused = await startRefused(database, { PORT: 'x', ROLES: 'api,cook', JWT_SECRET: 'short' })
    expect(refused.code).toBe(1)
    for (const name of ['PORT', 'ROLES', 'JWT_SECRET']) expect(refused.stderr).toContain(name)
  })
})
