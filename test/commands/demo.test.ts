import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Fieldline, type LivePosition } from '#client'
import { openBasemap } from '../../src/basemap/open.ts'
import { readDemoOptions } from '../../src/commands/demo-options.ts'
import { createClient } from '../support/client.ts'
import { readStreets, toSpot } from '../support/streets.ts'
import { pause, until } from '../support/wait.ts'

const ARCHIVE = resolve(import.meta.dirname, '../../basemap/sanfrancisco.pmtiles')
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

const linksIn = (output: string) =>
  [...output.matchAll(/The link that a customer gets: (\S+)/g)].map(([, link]) => link)

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
  const watch = async () => {
    for await (const message of new Fieldline({ baseUrl: url, token }).live({ signal: stop.signal })) {
      if (message.type !== 'snapshot' && message.type !== 'positions') continue
      for (const position of message.positions)
        seen.set(position.subjectId, [...(seen.get(position.subjectId) ?? []), position])
    }
  }
  const watching = watch()
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
  // Else their working hours were not those of the city.
  expect((await client.get('/organization')).body.data.timeZone).toBe('America/Los_Angeles')
  const [driver] = (await client.get('/users?limit=500')).body.data
  const since = Date.parse(driver.createdAt)
  await until(
    'a driver reports',
    async () => {
      await pause(1_000)
      const { data } = (await client.get('/tasks?limit=500')).body
      return data.some(
        ({ history }: { history: { at: string }[] }) => Date.parse(history.at(-1)?.at ?? '') > since,
      )
    },
    120_000,
  )
  stop.abort()
  await watching

  const again = await client.delete('/organization/sample-data')
  expect(again.status).toBe(200)
  await until('it says what to do', () =>
    started.output.includes('Its live map has a button that creates the company again'),
  )
  expect(started.output).toContain('The sample company was deleted, so no vehicle drives any more')
  expect((await client.post('/organization/sample-data', {})).status).toBe(202)
  const drives = () => started.output.split('12 vehicles drive through San Francisco').length - 1
  await until('the new vehicles drive', () => drives() === 2, 300_000)
  await until('the new link is there', () => linksIn(started.output).length === 2)

  const second = demo('--data', data)
  expect(await second.started.exitCode).toBe(1)
  expect(second.started.output).toContain(`is running already: open ${url}, and sign in as owner@example.com`)

  interrupt()
  expect(await started.exitCode, started.output).toBe(0)
  expect(started.output).toContain('The demo has stopped. The next run goes on from here.')
  await expect(fetch(url)).rejects.toThrow()

  const third = demo('--data', data)
  await until('the vehicles drive on', () => linksIn(third.started.output).length === 1, 300_000)
  const found = /Sign in +\S+, with the password (\S+)/.exec(third.started.output)
  expect(found?.[1]).toBe(password)
  const [, at = ''] = /Open +(\S+)/.exec(third.started.output) ?? []
  const visitor = createClient({ url: at }, '')
  const { token: own } = (await visitor.post('/auth/login', { email: 'owner@example.com', password })).body
  const newPassword = 'another long password'
  const passwords = { currentPassword: password, newPassword }
  expect((await createClient({ url: at }, own).post('/auth/change-password', passwords)).status).toBe(200)
  await until('it says that it cannot sign in', () =>
    third.started.output.includes('The password of owner@example.com is another one now'),
  )
  expect((await fetch(`${at}/health`)).ok).toBe(true)
  const tokenOf = (link = '') => link.slice(link.lastIndexOf('/'))
  expect(tokenOf(linksIn(third.started.output)[0])).toBe(tokenOf(linksIn(started.output)[1]))
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
  const inFile = demo('--data', join(other, 'letters.txt'))
  for (const [{ started }, sentence] of [
    [taken, `Port ${port} is taken by another program. Give the demo another one with --port`],
    [foreign, 'holds other files than those of a demo. Choose another directory with --data'],
    [
      newer,
      'are of another version of Fieldline. Delete the directory to begin anew, or choose another with --data.',
    ],
    [inFile, 'holds other files than those of a demo'],
  ] as const) {
    expect([await started.exitCode, started.output]).toEqual([1, expect.stringContaining(sentence)])
    expect(started.output).not.toContain('DATA_DIR')
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

test.each([
  ['missing', null, 'is missing or damaged'],
  ['empty', 0, 'is missing or damaged'],
  ['cut off in its directories', 20_000, 'is cut off: it has 20000 of '],
  ['cut off in its last tiles', 4_000_000, 'is cut off: it has 4000000 of '],
])(
  'a server whose archive is %s starts, says so in a sentence, and has no tiles',
  async (_, bytes, reason) => {
    const path = join(directory, 'town.pmtiles')
    if (bytes !== null) writeFileSync(path, readFileSync(ARCHIVE).subarray(0, bytes))
    const warnings: { msg: string }[] = []
    const logger = pino({ level: 'warn' }, { write: line => void warnings.push(JSON.parse(line)) })
    const setting = { kind: 'file', path } as const
    const basemap = await openBasemap({ basemap: setting, dataDir: directory, basemapCacheMb: 1 }, logger)
    expect([basemap.about, await basemap.read({ z: 0, x: 0, y: 0 }, 'a')]).toEqual([null, null])
    expect(warnings.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(
        new RegExp(`^The map shows outlines alone: the archive ${reason}.*town.pmtiles\\)$`),
      ),
    ])
  },
)
