import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen } from '../support/screen.ts'
import { startRefused, startServer } from '../support/server.ts'
import { pause } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { startPublisher } from './publisher.ts'

describe('The embedded server', () => {
  let database: TestDatabase
  afterEach(() => database.remove())

  it('creates the first account once, says how to begin, and finds everything again', async () => {
    database = await createTestDatabase('pglite')
    const first = await startServer(database)
    expect(first.output.stdout).toContain('The first account is owner@example.com')
    const owner = await signIn(first)
    const device = await createDevice(owner)
    const client = await connectDevice(first, device)
    await publish(client, device, { lat: 1, lng: 2, timestamp: Date.now() - 1000 })
    await client.endAsync()
    expect(await first.stop()).toBe(0)

    const second = await startServer(database)
    expect(second.output.stdout).not.toContain('first account')
    // The token of before is as good as the session.
    expect(
      (await fetch(`${second.url}/api/v3/user`, { headers: { authorization: `Bearer ${owner.token}` } }))
        .status,
    ).toBe(200)
    expect(await readHistory(await signIn(second), device.id)).toHaveLength(1)
    await second.stop()
  })

  it('prints a password that it generated, and only then', async () => {
    database = await createTestDatabase('pglite')
    const server = await startServer(database, { FIELDLINE_OWNER_PASSWORD: '' })
    const password = /its password (\S+) \(shown once\)/.exec(server.output.stdout)?.[1] as string
    await signIn(server, { email: 'owner@example.com', password })
    await server.stop()
  })

  it('is ready on one line of standard output, and answers health, readiness and metrics', async () => {
    database = await createTestDatabase('pglite')
    const server = await startServer(database)
    expect(server.output.stdout.split('\n')).toContain(
      `fieldline ready ${server.url} mqtt://127.0.0.1:${server.mqttPort}`,
    )
    for (const path of ['/health', '/ready', '/metrics'])
      expect((await fetch(server.url + path)).status, path).toBe(200)
    await server.stop()
  })

  it('lets no second process onto its directory, and takes it over from one that was killed', async () => {
    database = await createTestDatabase('pglite')
    const server = await startServer(database)
    const refused = await startRefused(database)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/is in use by process \d+ .* DATA_DIR/)
    await server.kill9()
    const next = await startServer(database)
    await next.stop()
    expect(readFileSync(join(database.dataDir, 'postgres.lock.2'), 'utf8')).toBe('null')
  })

  it('says everything that is wrong in the configuration at once', async () => {
    database = await createTestDatabase('pglite')
    const refused = await startRefused(database, { PORT: 'x', ROLES: 'api,cook', JWT_SECRET: 'short' })
    expect(refused.code).toBe(1)
    for (const name of ['PORT', 'ROLES', 'JWT_SECRET']) expect(refused.stderr).toContain(name)
  })

  it('drains on SIGTERM: what was acknowledged is there, and screens are told that it goes', async () => {
    database = await createTestDatabase('pglite')
    const server = await startServer(database)
    const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
    const owner = await signIn(server)
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token)
    const publisher = startPublisher(() => server.mqttPort, device, 1)
    await pause(1000)
    expect(await server.stop()).toBe(0)
    expect((await screen.closed).code).toBe(1001)
    const next = await startServer(database, ports)
    await publisher.finish()
    const report = await checkHistories(await signIn(next), [publisher])
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
    expect(report.acknowledged).toBeGreaterThan(20)
    await next.stop()
  })
})
