import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openBasemap } from '../../src/basemap/open.ts'
import { readDemoOptions } from '../../src/commands/demo-options.ts'
import type { LivePosition } from '../../src/commands/live.ts'
import { followLive } from '../../src/commands/live.ts'
import { createClient } from '../support/client.ts'
import { readStreets, toSpot } from '../support/streets.ts'
import { until } from '../support/wait.ts'

/** No process has this number. */
const GONE = 2 ** 30

let directory: string
const running = new Set<ChildProcess>()
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fieldline-demo-'))
})
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGINT')
    await once(child, 'close')
  }
  rmSync(directory, { recursive: true, force: true })
})

/** The demo as a user runs it: the compiled program. */
function demo(...args: string[]) {
  const program = resolve(import.meta.dirname, '../../dist/src/commands/demo.js')
  const child = spawn(process.execPath, [program, '--port', '0', '--mqtt-port', '0', ...args], {
    // Variables of the shell that lead to another database have no influence.
    env: { PATH: process.env.PATH, DATABASE_URL: 'postgresql://nobody@nowhere.example/none' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const started = { output: '', exitCode: once(child, 'close').then(([code]) => code as number | null) }
  started.exitCode.then(() => running.delete(child))
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      started.output += chunk
    })
  }
  return { started, interrupt: () => child.kill('SIGINT') }
}

test('a company drives through the streets of San Francisco, and stops with Ctrl-C', async () => {
  const data = join(directory, 'data')
  const { started, interrupt } = demo('--data', data)
  await until('it says how to sign in', () => started.output.includes('Sign in'), 300_000)
  const [, url = '', password = ''] =
    /Open +(\S+)\s+Sign in +\S+, with the password (\S+)/.exec(started.output) ?? []
  const server = { url }
  const login = await createClient(server, '').post('/auth/login', { email: 'owner@example.com', password })
  const { token } = login.body

  const seen = new Map<string, LivePosition[]>()
  const stop = new AbortController()
  const watching = followLive({
    ...{ url, token, since: null, stop: stop.signal },
    onMessage(message) {
      if (message.type !== 'snapshot' && message.type !== 'positions') return
      for (const position of message.positions)
        seen.set(position.subjectId, [...(seen.get(position.subjectId) ?? []), position])
    },
  })
  const moved = () =>
    [...seen.values()].filter(
      positions =>
        new Set(positions.filter(({ state }) => state === 'moving').map(({ lat, lng }) => `${lat} ${lng}`))
          .size > 3,
    )
  await until('vehicles move', () => moved().length > 2, 300_000)
  const { near } = await readStreets()
  const away = moved().flatMap(positions =>
    positions.slice(1).filter(position => near(toSpot(position), 20).length === 0),
  )
  expect(away).toEqual([])
  const client = createClient(server, token)
  await until(
    'a driver reports',
    async () => {
      const { data } = (await client.get('/tasks?limit=500')).body
      const drivers = (await client.get('/users?limit=500')).body.data
      const since = Date.parse(drivers[0].createdAt)
      return data.some(
        ({ history }: { history: { at: string }[] }) => Date.parse(history.at(-1)?.at ?? '') > since,
      )
    },
    120_000,
  )
  stop.abort()
  await watching

  const second = demo('--data', data)
  expect(await second.started.exitCode).toBe(1)
  expect(second.started.output).toContain(`is running already: open ${url}, and sign in as owner@example.com`)

  interrupt()
  expect(await started.exitCode, started.output).toBe(0)
  expect(started.output).toContain('The demo has stopped. The next run goes on from here.')
  await expect(fetch(url)).rejects.toThrow()
})

test('says in a sentence why it does not start, and touches nothing', async () => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const taken = demo('--data', join(directory, 'a'), '--port', `${port}`)
  const other = join(directory, 'b')
  mkdirSync(other)
  writeFileSync(join(other, 'letters.txt'), 'mine')
  const foreign = demo('--data', other)
  const later = join(directory, 'c')
  mkdirSync(join(later, 'postgres'), { recursive: true })
  writeFileSync(join(later, 'demo.json'), JSON.stringify({ password: 'correct-horse', pid: GONE, url: '' }))
  writeFileSync(join(later, 'postgres', 'FIELDLINE_FORMAT'), '99\n')
  const newer = demo('--data', later)
  for (const [{ started }, sentence] of [
    [taken, `Port ${port} is taken by another program. Give the demo another one with --port`],
    [foreign, 'holds other files than those of a demo. Choose another directory with --data'],
    [newer, 'are of another version of Fieldline'],
  ] as const) {
    expect([await started.exitCode, started.output]).toEqual([1, expect.stringContaining(sentence)])
  }
  listener.close()
})

test('its options are used as given, and a wrong one is named', () => {
  expect(readDemoOptions(['--open', '--data', 'x', '--port', '0'])).toEqual({
    ...{ dataDir: 'x', port: 0, mqttPort: 1883, open: true },
  })
  expect(() => readDemoOptions(['--port', 'ten'])).toThrow(
    '--port has to be a port from 0 to 65535, it is "ten".',
  )
  expect(() => readDemoOptions(['--speed', '3'])).toThrow("Unknown option '--speed'")
})

test('without its archive a server starts, and has no tiles', async () => {
  const warnings: string[] = []
  const logger = pino({ level: 'warn' }, { write: line => void warnings.push(line) })
  const setting = { kind: 'file', path: join(directory, 'none.pmtiles'), isOwn: true } as const
  const basemap = await openBasemap({ basemap: setting, dataDir: directory, basemapCacheMb: 1 }, logger)
  expect([basemap.about, await basemap.read({ z: 0, x: 0, y: 0 }, 'a')]).toEqual([null, null])
  expect(warnings.join()).toContain('The map shows outlines alone')
})
