import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { addApiKey } from '../support/api-keys.ts'
import { type Client, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addPerson, PASSWORD } from '../support/people.ts'
import { addSecondFactor } from '../support/second-factor.ts'
import { OWNER, openServer, type Server, type ServerProcess, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

interface Command {
  /** Its output to standard output and standard error so far. */
  output: string
  exitCode: Promise<number | null>
  interrupt(): void
}

let database: TestDatabase
let server: Server
/** The first server, which a test kills. */
let serverProcess: ServerProcess
let owner: Client
const running = new Set<ChildProcess>()

beforeAll(async () => {
  database = await createTestDatabase(usualKind())
  serverProcess = await startServer(database)
  server = serverProcess
  owner = await signIn(server)
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})
afterAll(async () => {
  await server?.stop()
  await database?.remove()
})

/** A command as a user runs it: the compiled program, signed in as the owner. */
function start(name: 'simulate' | 'watch', ...args: string[]): Command {
  const program = resolve(import.meta.dirname, `../../dist/src/commands/${name}.js`)
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, FIELDLINE_OWNER_PASSWORD: OWNER.password },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const exitCode = once(child, 'close').then(([code]) => code as number | null)
  exitCode.then(() => running.delete(child))
  const command: Command = { output: '', exitCode, interrupt: () => void child.kill('SIGINT') }
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      command.output += chunk
    })
  }
  return command
}

const simulateAt = ({ url, mqttPort }: Server, ...args: string[]) =>
  start('simulate', '--url', url, '--mqtt', `mqtt://127.0.0.1:${mqttPort}`, ...args)
const simulate = (...args: string[]) => simulateAt(server, ...args)
const watch = (...args: string[]) => start('watch', '--url', server.url, ...args)
const acknowledged = ({ output }: Command) => Number(/s: (\d+) points acknowledged/.exec(output)?.[1])

/** On the same ports: clients reconnect by themselves. */
async function startAgain(): Promise<void> {
  const { port } = new URL(server.url)
  server = await openServer(database, { PORT: port, MQTT_PORT: String(server.mqttPort) })
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  await once(listener, 'close')
  return port
}

async function countStored(): Promise<number> {
  const { body } = await owner.get('/devices?limit=500')
  let stored = 0
  for (const { _id } of body.data) stored += (await readHistory(owner, _id)).length
  return stored
}

describe('a fleet', () => {
  test('is in the history with every point that it says was acknowledged, and uses its devices again', async () => {
    const first = simulate('--devices', '10', '--rate', '5', '--trace', 'liverpool', '--duration', '3')
    expect(await first.exitCode, first.output).toBe(0)
    expect(first.output).toContain('10 devices: 10 created, 0 of an earlier run')
    expect(first.output).toMatch(/ 0 rejected, 0 without acknowledgement/)
    // Each device sends one at least, however slow the machine is.
    expect(acknowledged(first)).toBeGreaterThanOrEqual(10)
    expect(await countStored()).toBe(acknowledged(first))

    const second = simulate('--devices', '12', '--trace', 'liverpool', '--duration', '1')
    expect(await second.exitCode, second.output).toBe(0)
    expect(second.output).toContain('12 devices: 2 created, 10 of an earlier run')
    const { body } = await owner.get('/devices')
    expect(body.data.map(({ name }: { name: string }) => name)).toContain('lpool-4836-2')
    expect(body.pagination.total).toBe(12)
  })

  test('goes on after kill -9 of the server, and the watcher with it; no acknowledged point is lost', async () => {
    const before = await countStored()
    const watcher = watch()
    const fleet = simulate('--devices', '8', '--rate', '5')
    await until('the fleet moves', () => watcher.output.includes('van-'))
    await serverProcess.kill9()
    await until('the watcher has noticed', () => watcher.output.includes('Connection lost'))
    await startAgain()
    await until('the watcher is back', () => watcher.output.includes('Connected again'))
    // The last line so far may be of the time before.
    const from = fleet.output.length
    await until('the fleet is back', () =>
      /^\S+ {2}8\/8 connected.*rejected$/m.test(fleet.output.slice(from)),
    )
    fleet.interrupt()
    expect(await fleet.exitCode, fleet.output).toBe(0)
    expect(fleet.output).toMatch(/ 0 without acknowledgement/)
    expect((await countStored()) - before).toBe(acknowledged(fleet))
    watcher.interrupt()
    expect(await watcher.exitCode, watcher.output).toBe(0)
  })

  test('waits where the server limits requests, and is carried out all the same', async () => {
    const own = await createTestDatabase(usualKind())
    const limited = await openServer(own, { RATE_LIMIT_PER_MINUTE: '20' })
    try {
      // Each takes at least a request.
      const fleet = simulateAt(limited, '--devices', '30', '--duration', '1')
      expect(await fleet.exitCode, fleet.output).toBe(0)
      expect(fleet.output).toContain('The server asks to wait: ')
    } finally {
      await limited.stop()
      await own.remove()
    }
  })

  test('plays a working day: drivers accept tasks, drive to them and end them where they are', async () => {
    const first = simulate('--devices', '3', '--day', '--duration', '3')
    expect(await first.exitCode, first.output).toBe(0)
    const users = (await owner.get('/users?search=driver')).body.data
    expect(
      users.map(({ role, status }: { role: { name: string }; status: string }) => [role.name, status]),
    ).toEqual(Array(3).fill(['Field user', 'active']))

    const since = Date.now()
    const fleet = simulate('--devices', '3', '--rate', '2', '--day')
    const open = async () =>
      (await owner.get('/tasks?status=accepted,on_the_way')).body.data.filter(
        ({ createdAt }: { createdAt: string }) => Date.parse(createdAt) > since,
      )
    let [taken] = await open()
    await until(
      'a task is on its way',
      async () => {
        await pause(500)
        ;[taken] = await open()
        return taken !== undefined
      },
      300_000,
    )
    // A task that somebody deletes on a screen ends the work on it and not the day.
    expect((await owner.delete(`/task/${taken._id}`)).status).toBe(200)
    await until('its driver leaves it', () => fleet.output.includes(` leaves ${taken.code} alone`))
    await until(
      'two tasks have ended',
      () => (fleet.output.match(/ has (completed|failed) T-/g)?.length ?? 0) > 1,
      300_000,
    )
    fleet.interrupt()
    expect(await fleet.exitCode, fleet.output).toBe(0)
    expect(fleet.output).toMatch(/The day.s tasks: \d+ completed, \d+ failed/)
    const vehicles = (await owner.get('/vehicles')).body.data
    const tasks = (await owner.get('/tasks?status=completed,failed')).body.data
    expect(tasks.length).toBeGreaterThan(1)
    expect((await owner.get('/users?search=driver')).body.pagination.total).toBe(3)
    for (const { history, location, vehicleId, assigneeId } of tasks) {
      const statuses = history.map(({ status }: { status: string }) => status)
      expect(statuses.slice(0, 4)).toEqual(['unassigned', 'assigned', 'accepted', 'on_the_way'])
      const end = history.at(-1)
      // The end is at the task's place, and in the traces of the vehicle: as far as it drives in a few seconds.
      expect(Math.hypot(end.lat - location.lat, end.lng - location.lng)).toBeLessThan(0.01)
      // The planner assigns the task; everything else comes from the driver.
      expect(users.map(({ _id }: { _id: string }) => _id)).toContain(assigneeId)
      for (const { by } of history.slice(2)) expect(by).toBe(assigneeId)
      const vehicle = vehicles.find(({ _id }: { _id: string }) => _id === vehicleId)
      expect(vehicle).toMatchObject({ driverId: assigneeId, deviceId: expect.any(String) })
    }
  })

  test('whose keys are replaced says so and ends', async () => {
    const args = ['--devices', '2', '--trace', 'liverpool']
    const first = simulate(...args)
    await until('the first fleet is connected', () => first.output.includes('Watch them with'))
    const second = simulate(...args)
    expect(await first.exitCode, first.output).toBe(1)
    expect(first.output).toContain('The server denies access to all devices.')
    second.interrupt()
    await second.exitCode
  })
})

describe('watch', () => {
  test('says that its token was revoked, and ends', async () => {
    const { token } = await signIn(server)
    const watcher = watch('--token', token)
    await until('it watches', () => watcher.output.includes('Watching'))
    await fetch(`${server.url}/api/v3/auth/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await watcher.exitCode).toBe(1)
    expect(watcher.output).toContain('The token is expired or revoked (4401).')
  })

  test('signs in again where its session was ended and it has a password', async () => {
    const before = new Set(
      (await owner.get('/auth/sessions')).body.data.map(({ _id }: { _id: string }) => _id),
    )
    const watcher = watch()
    await until('it watches', () => watcher.output.includes('Watching'))
    const { data } = (await owner.get('/auth/sessions')).body
    const own = data.find(({ _id }: { _id: string }) => !before.has(_id))
    expect((await owner.delete(`/auth/session/${own._id}`)).status).toBe(200)
    await until('it goes on', () => watcher.output.includes('Connected again'))
    expect(watcher.output).toContain('The token is expired or revoked (4401): signing in again.')
    watcher.interrupt()
    expect(await watcher.exitCode).toBe(0)
  })

  test('says how to go on where the account has a second factor', async () => {
    const person = await addPerson(server, owner)
    await addSecondFactor(person.client)
    const watcher = watch('--email', person.email, '--password', PASSWORD)
    expect(await watcher.exitCode).toBe(1)
    expect(watcher.output).toContain(`Signing in as ${person.email} failed`)
    expect(watcher.output).toContain('create an API key in the console, and give it with --token')
    expect(watcher.output).not.toContain('FIELDLINE_OWNER_PASSWORD')
    const { key } = await addApiKey(server, owner)
    const byKey = watch('--token', key)
    await until('it watches', () => byKey.output.includes('Watching'))
    byKey.interrupt()
    expect(await byKey.exitCode).toBe(0)
  })

  test('denies a token that is none', async () => {
    const watcher = watch('--token', 'abc')
    expect(await watcher.exitCode).toBe(1)
    expect(watcher.output).toContain('The token is expired or revoked')
  })
})

describe.each(['simulate', 'watch'] as const)('%s says in a sentence', name => {
  test('that there is no server', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}`
    const command = start(name, '--url', url)
    expect(await command.exitCode).toBe(1)
    expect(command.output).toBe(
      `There is no server at ${url}: nobody listens there.\nStart one with: npm start\n`,
    )
  })

  test('that the password is wrong', async () => {
    const command = start(name, '--url', server.url, '--password', 'wrong-password')
    expect(await command.exitCode).toBe(1)
    expect(command.output).toMatch(/^Signing in as owner@example.com failed: .* wrong\.\n/)
    expect(command.output).not.toContain('    at ')
  })

  test('what there is, for --help', async () => {
    const command = start(name, '--help')
    expect(await command.exitCode).toBe(0)
    expect(command.output).toContain(`npm run ${name} -- [options]`)
  })
})

// The options of `watch` are in options.test.ts; both programs say the same way what is wrong with them.
test('a command says in a sentence which option it does not know', async () => {
  const command = start('simulate', '--colour')
  expect(await command.exitCode).toBe(2)
  expect(command.output).toBe("Unknown option '--colour'.\nRun it with --help to see the options.\n")
})
