import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { OWNER, openServer } from '../support/server.ts'

const COMMANDS = resolve(import.meta.dirname, '../../dist/src/operate')

interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Runs a command as its user does, with the variables of the server. */
const runCommand = (name: string, env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  new Promise(done => {
    const { PATH } = process.env
    const options = { env: { PATH, LOG_LEVEL: 'error', ...env } }
    execFile(process.execPath, [join(COMMANDS, `${name}.js`), ...args], options, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })

describe.skipIf(postgresMissing())('The commands of whoever runs the server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-operate-'))
  let embedded: TestDatabase
  let postgres: TestDatabase
  let device: TestDevice
  let points: unknown[]
  let env: Record<string, string>
  beforeAll(async () => {
    embedded = await createTestDatabase('pglite')
    postgres = await createTestDatabase('postgres')
    const server = await openServer(embedded)
    const owner = await signIn(server)
    device = await createDevice(owner, 'Moving')
    await fetch(`${server.url}/api/v3/location-history/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${device.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ points: [{ lat: 1, lng: 2, timestamp: Date.now() - 60_000, speed: 3.5 }] }),
    })
    points = await readHistory(owner, device.id)
    expect(points).toHaveLength(1)
    await server.stop()
    const JWT_SECRET = readFileSync(join(embedded.dataDir, 'jwt-secret'), 'utf8').trim()
    env = { DATABASE_URL: postgres.url as string, DATA_DIR: embedded.dataDir, JWT_SECRET }
  })
  afterAll(async () => {
    await embedded?.remove()
    await postgres?.remove()
    rmSync(folder, { recursive: true })
  })

  it('`migrate` says that there is nothing to do', async () => {
    expect(await runCommand('migrate', env)).toEqual({
      ...{ code: 0, stdout: 'The schema is up to date.\n', stderr: '' },
    })
  })

  it('`move` asks for the secret with which the embedded database was sealed', async () => {
    const other = { ...env, JWT_SECRET: 'another secret of thirty-two characters' }
    const { code, stderr } = await runCommand('move', other)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^fieldline cannot move: .*jwt-secret: set JWT_SECRET to/),
    ])
  })

  it('`move` takes everything to PostgreSQL, and only once', async () => {
    const moved = await runCommand('move', env)
    expect(moved).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^Moved My organization \(\d+ rows\)/),
    })
    const again = await runCommand('move', env)
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining('has the organization My organization'),
    ])

    const server = await openServer(
      { ...postgres, dataDir: embedded.dataDir },
      { JWT_SECRET: env.JWT_SECRET as string },
    )
    const owner = await signIn(server, OWNER)
    expect(await readHistory(owner, device.id)).toEqual(points)
    const sent = await fetch(`${server.url}/api/v3/location-history/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${device.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ points: [{ lat: 1, lng: 2, timestamp: Date.now() - 1_000 }] }),
    })
    expect(sent.status).toBe(200)
    expect(await readHistory(owner, device.id)).toHaveLength(2)
    await server.stop()
  })

  it('`backup` and `restore` say in one sentence what they cannot do', async () => {
    const nobody = '01a20000-0000-7000-8000-000000000000'
    for (const [name, args, code, sentence] of [
      ['backup', [], 2, /^npm run backup -- --organization <id> --to <file>\n$/],
      [
        'backup',
        ['--organization', nobody, '--to', join(folder, 'a')],
        1,
        /There is no organization 01a20000/,
      ],
      ['backup', ['--organization', nobody, '--to', folder], 1, /exists: name another one/],
      ['restore', [], 2, /^npm run restore -- --from <file>\n$/],
      ['restore', ['--from', join(folder, 'none')], 1, /The file .*none cannot be read \(ENOENT\)/],
    ] as const) {
      const ended = await runCommand(name, env, ...args)
      expect([ended.code, ended.stdout], ended.stderr).toEqual([code, ''])
      expect(ended.stderr).toMatch(sentence)
      expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    }
  })
})
