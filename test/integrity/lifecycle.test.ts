import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeFirstAccount, describeFirstSteps } from '../../src/first-steps.ts'
import { createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openScreen } from '../support/screen.ts'
import { OWNER, type ServerProcess, startRefused, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { countAcknowledged, startPublisher } from './publisher.ts'

/** The password that the first server generated: none is given. */
const GENERATED = { FIELDLINE_OWNER_PASSWORD: '' }

describe('The embedded server', () => {
  let database: TestDatabase
  /** Every test leaves a running server behind, because a start takes seconds. */
  let server: ServerProcess
  /** The output of the first server. */
  let beginning: string
  let password: string
  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await startServer(database, GENERATED)
    beginning = server.output.stdout
    password = /its password (\S+) \(shown once\)/.exec(beginning)?.[1] as string
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })
  const enter = () => signIn(server, { email: OWNER.email, password })

  it('is ready on one line of standard output, and answers health, readiness and metrics', async () => {
    expect(server.output.stdout.split('\n')).toContain(
      `fieldline ready ${server.url} mqtt://127.0.0.1:${server.mqttPort}`,
    )
    for (const path of ['/health', '/ready', '/metrics'])
      expect((await fetch(server.url + path)).status, path).toBe(200)
  })

  it('says everything that is wrong in the configuration at once', async () => {
    const refused = await startRefused(database, { PORT: 'x', ROLES: 'api,cook', JWT_SECRET: 'short' })
    expect(refused.code).toBe(1)
    for (const name of ['PORT', 'ROLES', 'JWT_SECRET']) expect(refused.stderr).toContain(name)
  })

  // It takes the directory over from one that was killed in embedded.test.ts.
  it('lets no second process onto its directory', async () => {
    const refused = await startRefused(database)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/is in use by process \d+ .* DATA_DIR/)
  })

  it('creates the first account once, with a password that it prints, and says how to begin', async () => {
    expect(beginning).toContain('The first account is owner@example.com')
    expect(beginning).toMatch(/Open http:\/\/127\.0\.0\.1:\d+ in a browser and sign in\./)
    await enter()
  })

  it('drains on SIGTERM: what was acknowledged is found again, and screens are told that it goes', async () => {
    const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
    const owner = await enter()
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token)
    const publisher = startPublisher(() => server.mqttPort, device, 1)
    await until('it is under load', () => countAcknowledged([publisher]) > 20)
    expect(await server.stop()).toBe(0)
    expect((await screen.closed).code).toBe(1001)
    server = await startServer(database, { ...ports, ...GENERATED })
    await publisher.finish()
    expect(server.output.stdout).not.toContain('first account')
    expect(server.output.stdout).not.toContain('shown once')
    // The token of the first server is still valid.
    const authorization = `Bearer ${owner.token}`
    expect((await fetch(`${server.url}/api/v3/user`, { headers: { authorization } })).status).toBe(200)
    const report = await checkHistories(await enter(), [publisher])
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
    expect(report.acknowledged).toBeGreaterThan(20)
  })
})

it('A password that somebody chose is not printed', () => {
  const account = { ...OWNER, generated: false }
  const shown = describeFirstAccount(account) + describeFirstSteps(account, 'http://127.0.0.1:3000', 1883)
  expect(shown).toContain('The first account is owner@example.com.')
  expect(shown).toContain('Open http://127.0.0.1:3000 in a browser and sign in.')
  expect(shown).not.toContain(OWNER.password)
})
