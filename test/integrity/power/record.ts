import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createDevice, signIn, type TestDevice } from '../../support/client.ts'
import type { TestDatabase } from '../../support/database.ts'
import { connectDevice, publish } from '../../support/mqtt.ts'
import { newEmail, roleId } from '../../support/people.ts'
import { OWNER, type Server, startServer } from '../../support/server.ts'
import { pause } from '../../support/wait.ts'
import { type Op, readRecord } from './disk.ts'
import type { Found } from './open-image.ts'

const RECORDER = resolve(import.meta.dirname, '../../support/record-disk.mjs')
const CHECKPOINT_EVERY_MS = 500

/** A promise that an answer made. It holds at every moment after that answer. */
export interface Fact {
  what: string
  /** The number of operations before the answer. */
  after: number
  holds(found: Found): boolean
}

export interface Recording {
  /** A copy of the directory before the recording. */
  base: string
  ops: Op[]
  facts: Fact[]
  /** For each device, the number of points that were sent, answered or not. */
  sent: ReadonlyMap<string, number>
  remove(): void
}

/**
 * A fact before the record is read. It is ordered by the number of a request, or by the length of the record at the
 * answer.
 */
type Noted = Omit<Fact, 'after'> & ({ probe: number } | { bytes: number })

/**
 * Makes a server record its operations on its directory while clients send every kind of request whose result must
 * not be lost. The server is started several times and killed with -9 in between, so that each start has to make
 * durable what was in the memory of the previous one.
 */
export async function record(
  database: TestDatabase,
  options: { lives: number; roundsEach: number; log?: (line: string) => void },
): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-power-'))
  const base = join(folder, 'base')
  const path = join(folder, 'record')
  cpSync(database.dataDir, base, { recursive: true })
  const noted: Noted[] = []
  const sent = new Map<string, number>()
  const never: number[] = []
  for (let life = 1; life <= options.lives; life++) {
    const server = await startServer(database, {
      NODE_OPTIONS: `--import=${RECORDER}`,
      RECORD_DISK: path,
      CHECKPOINT_EVERY_MS: `${CHECKPOINT_EVERY_MS}`,
      EXPORT_DIRECT_LIMIT: '0',
    })
    const ended = new AbortController()
    const asking = { server, database, path, noted, sent, signal: ended.signal }
    const working = askEverything(asking, options.roundsEach, () => ended.abort())
    await Promise.race([once(ended.signal, 'abort'), working])
    if (life < options.lives) {
      await server.kill9()
      never.push(...findUndone(path, database.dataDir))
    } else await server.stop()
    await working
    options.log?.(
      `life ${life}: ${noted.length} answers, ${Math.round(statSync(path).size / 1e6)} MB written`,
    )
  }
  const ops = readRecord(path)
  for (const index of never.reverse()) ops.splice(index, 1)
  return {
    base,
    ops,
    facts: noted.map(fact => toFact(fact, ops)),
    sent,
    remove: () => rmSync(folder, { recursive: true }),
  }
}

function toFact({ what, holds, ...when }: Noted, ops: readonly Op[]): Fact {
  const after = ops.findIndex(op => ('probe' in when ? op.probe === when.probe : op.offset >= when.bytes))
  if (after < 0 && 'probe' in when) throw new Error(`The record has no answer of "${what}"`)
  return { what, holds, after: after < 0 ? ops.length : after }
}

/** Finds operations that were recorded but had not happened when the process was killed: at most the last one. */
function findUndone(path: string, dataDir: string): number[] {
  const ops = readRecord(path)
  const index = ops.findLastIndex(op => op.path?.startsWith('postgres/'))
  const op = ops[index]
  if (!op) return []
  const file = join(dataDir, op.path)
  if (op.op === 'write') {
    const there = existsSync(file) ? readFileSync(file).subarray(op.at, op.at + op.length) : Buffer.alloc(0)
    return there.equals(op.isZero ? Buffer.alloc(op.length) : op.data) ? [] : [index]
  }
  if (op.op === 'truncate') return statSync(file).size === op.size ? [] : [index]
  if (op.op === 'rename' || op.op === 'remove') return existsSync(file) ? [index] : []
  return op.op === 'create' && !existsSync(file) ? [index] : []
}

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely, an absent field fails
  body: any
}

interface Asking {
  server: Server
  database: TestDatabase
  path: string
  noted: Noted[]
  sent: Map<string, number>
  signal: AbortSignal
}

let probe = 0

/** Each client sends one request after the other. Calls `done` when each has this many answers. */
async function askEverything(asking: Asking, rounds: number, done: () => void): Promise<void> {
  const owner = await signIn(asking.server)
  const hub = (await owner.post('/hub', { name: 'Hub', lat: 48.1, lng: 11.6 })).body.data._id
  const fields = [{ key: 'n', label: 'N', type: 'text' }]
  const dataTypeId = (await owner.post('/data-type', { name: `Type ${newEmail()}`, fields })).body.data._id
  // An export without records keeps no file, so there has to be a record.
  await owner.post('/data', { dataTypeId, data: { n: 'the first' } })
  const devices = await Promise.all(['One', 'Two', 'Three'].map(name => createDevice(owner, name)))
  const [published, ...posted] = devices as [TestDevice, ...TestDevice[]]
  const role = await roleId(owner, 'Planner')
  const { token } = owner
  const works = [
    ...posted.map(
      ({ id }, seed) =>
        () =>
          sendPoints(asking, token, id, seed),
    ),
    () => publishPoints(asking, published, rounds),
    () => inviteUser(asking, token, role),
    () => signInAndOut(asking),
    () => renameHub(asking, token, hub),
    () => importRows(asking, token, dataTypeId),
    () => exportRows(asking, token, dataTypeId),
  ]
  let working = works.length
  const finished = () => {
    working--
    if (working === 0) done()
  }
  await Promise.all(works.map(work => repeat(asking, work, rounds, finished)))
}

async function repeat(
  { signal }: Asking,
  work: () => Promise<void>,
  rounds: number,
  finished: () => void,
): Promise<void> {
  const ended = once(signal, 'abort')
  for (let round = 1; !signal.aborted; round++) {
    // An answer that a killed server did not send in time promises nothing.
    const done = work().catch(error => {
      if (!signal.aborted) throw error
    })
    await Promise.race([done, ended])
    if (round === rounds) finished()
  }
}

/** Numbers the request, and keeps the promises of its answer. */
async function ask(
  { noted, server }: Asking,
  token: string,
  [method, path, body]: [method: string, path: string, body?: object | FormData],
  promised: (answer: Answer) => Omit<Fact, 'after'>[],
): Promise<Answer> {
  const number = ++probe
  const isJson = body !== undefined && !(body instanceof FormData)
  const response = await fetch(`${server.url}/api/v3${path}`, {
    method,
    headers: {
      'x-probe': `${number}`,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(isJson && { 'content-type': 'application/json' }),
    },
    body: isJson ? JSON.stringify(body) : body,
  })
  const text = await response.text()
  const answer = { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : {} }
  noted.push(...promised(answer).map(fact => ({ ...fact, probe: number })))
  return answer
}

const BEGUN = Date.now() - 24 * 3_600_000
export const timeOf = (n: number) => BEGUN + n * 10

function pointsOf(sent: Map<string, number>, device: string, count: number) {
  const from = sent.get(device) ?? 0
  sent.set(device, from + count)
  return Array.from({ length: count }, (_, at) => ({
    lat: 40 + ((from + at) % 1000) / 100,
    lng: -5,
    timestamp: timeOf(from + at),
    attributes: { n: from + at },
  }))
}

const areThere = (device: string, points: { attributes: { n: number } }[]) => (found: Found) =>
  points.every(({ attributes: { n } }) => found.points.get(device)?.get(timeOf(n)) === n)

async function sendPoints(asking: Asking, token: string, deviceId: string, seed: number): Promise<void> {
  const points = pointsOf(asking.sent, deviceId, 1 + Math.floor(Math.random() * (seed === 0 ? 5 : 400)))
  const body = { points: points.map(point => ({ ...point, deviceId })) }
  await ask(asking, token, ['POST', '/location-history/bulk', body], ({ body }) =>
    body.data?.accepted === points.length
      ? [{ what: `${points.length} points of ${deviceId}`, holds: areThere(deviceId, points) }]
      : [],
  )
  await pause(20)
}

async function publishPoints(asking: Asking, device: TestDevice, count: number): Promise<void> {
  const client = await connectDevice(asking.server, device)
  client.on('error', () => {})
  try {
    for (let n = 0; n < count && !asking.signal.aborted; n++) {
      const points = pointsOf(asking.sent, device.id, 1)
      await publish(client, device, points)
      const bytes = statSync(asking.path).size
      asking.noted.push({ what: `A point of ${device.id}`, bytes, holds: areThere(device.id, points) })
      await pause(20)
    }
  } finally {
    client.end(true)
  }
}

async function inviteUser(asking: Asking, token: string, roleId: string): Promise<void> {
  const body = { email: newEmail(), name: 'Somebody', roleId, hubId: [] }
  await ask(asking, token, ['POST', '/users/invite', body], ({ status, body }) => {
    const id = body.data?._id
    return status === 201 ? [{ what: `User ${id}`, holds: found => found.users.has(id) }] : []
  })
  await pause(30)
}

const sessionOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()).jti

async function signInAndOut(asking: Asking): Promise<void> {
  // The end of the session may be durable before the request is answered.
  const leaving = { bytes: Number.POSITIVE_INFINITY }
  const { email, password } = OWNER
  const { body } = await ask(asking, '', ['POST', '/auth/login', { email, password }], ({ status, body }) => {
    if (status !== 200) return []
    const session = sessionOf(body.token)
    // The token is signed with a secret that the server generated itself.
    const secret = readFileSync(join(asking.database.dataDir, 'jwt-secret'))
    const holds = (found: Found) =>
      secret.equals(found.file('jwt-secret') ?? Buffer.alloc(0)) &&
      (found.sessions.has(session) || found.bytes >= leaving.bytes)
    return [{ what: `Session ${session}`, holds }]
  })
  await pause(100)
  const session = sessionOf(body.token)
  leaving.bytes = statSync(asking.path).size
  await ask(asking, body.token, ['POST', '/auth/logout', {}], ({ status }) =>
    status === 200
      ? [{ what: `The end of session ${session}`, holds: found => !found.sessions.has(session) }]
      : [],
  )
}

let renamed = 0

async function renameHub(asking: Asking, token: string, hub: string): Promise<void> {
  const number = ++renamed
  await ask(asking, token, ['PATCH', `/hub/${hub}`, { name: `Hub ${number}` }], ({ status }) => {
    const holds = (found: Found) => Number(found.hubs.get(hub)?.slice(4)) >= number
    return status === 200 ? [{ what: `Name ${number} of the hub`, holds }] : []
  })
  await pause(20)
}

let imported = 0

async function importRows(asking: Asking, token: string, dataTypeId: string): Promise<void> {
  const values = Array.from({ length: 20 }, () => `row ${++imported}`)
  const file = Buffer.from(`N\n${values.join('\n')}\n`)
  const form = new FormData()
  form.append('dataTypeId', dataTypeId)
  form.append('file', new Blob([file]), 'rows.csv')
  await ask(asking, token, ['POST', '/data/import', form], ({ status, body }) => {
    if (status !== 202) return []
    const id = body.data._id
    const holds = (found: Found) =>
      found.imports.get(id) === 'completed'
        ? values.every(value => found.records.has(value))
        : found.jobs.has(id) && file.equals(found.file(`imports/${id}`) ?? Buffer.alloc(0))
    return [{ what: `Import ${id}`, holds }]
  })
  await pause(300)
}

async function exportRows(asking: Asking, token: string, dataTypeId: string): Promise<void> {
  const order = { dataTypeId, format: Math.random() < 0.5 ? 'json' : 'xlsx' }
  const ordered = await ask(asking, token, ['POST', '/data/export', order], ({ status, body }) => {
    const id = body.data?._id
    return status === 202 ? [{ what: `Export ${id}`, holds: found => found.exports.has(id) }] : []
  })
  if (ordered.status !== 202) return pause(200)
  const id = ordered.body.data._id
  const path = `exports/${id}.${order.format}`
  for (let status = ''; status !== 'completed' && !asking.signal.aborted; await pause(50)) {
    await ask(asking, token, ['GET', `/tasks/export-log/${id}`], ({ body }) => {
      status = body.data?.status
      if (status !== 'completed') return []
      const whole = readFileSync(join(asking.database.dataDir, path))
      return [
        {
          what: `The file of export ${id}`,
          holds: found => whole.equals(found.file(path) ?? Buffer.alloc(0)),
        },
      ]
    })
  }
}
