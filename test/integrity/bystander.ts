import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { type Client, signIn } from '../support/client.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { addOrganization } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { pause } from '../support/wait.ts'
import { inlineRow, makeWorkbook } from '../support/workbooks.ts'

/**
 * Measures how somebody else is served while one organization sends what costs the server most. The bystander reads its own user
 * every 50 ms; a load may keep it waiting for 250 ms at most, refuse it nothing and close none of its sockets. These are
 * times of a clock, which say nothing on a busy machine: the row without a load says how busy it was. The tests of the same
 * loads measure processor time and turns instead (docs/security.md names them).
 */
const EVERY_MS = 50
const MAX_MS = 250
/** A load is repeated for so long, and what it has begun is waited for. */
const LOAD_MS = 6_000

export interface BystanderRow {
  load: string
  requests: number
  medianMs: number
  maxMs: number
  refused: number
  closed: number
  kept: boolean
}

interface Context {
  server: { url: string }
  owner: Client
  signal: AbortSignal
}

const RULE = {
  startTime: '2000-01-01T00:00:00.000Z',
  repeat: {
    rrule: `FREQ=DAILY;BYHOUR=${range(0, 23)};BYMINUTE=${range(0, 59)};BYSETPOS=${range(1, 366)},${range(-366, -1)}`,
  },
  count: 500,
}

function range(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at).join()
}

async function make(owner: Client, path: string, body: object): Promise<string> {
  const { status, body: answer } = await owner.post(path, body)
  if (status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(answer).slice(0, 300)}`)
  return answer.data._id
}

const field = (key: string) => ({ key, label: key, type: 'text' })
const rowsOf = (count: number) =>
  ['code,note', ...Array.from({ length: count }, (_, at) => `C${at},x`)].join('\n')
const addType = (owner: Client, name: string, fields: object[] = [field('code'), field('note')]) =>
  make(owner, '/data-type', { name, fields })

/** 70 KB that unpack to 6 MB: rows whose cells stand right of the last heading, which have to be read all the same. */
const WORKBOOK = makeWorkbook({
  rows: `${inlineRow(1, 'code', 'note')}${Array.from({ length: 3_000 }, (_, at) => inlineRow(at + 2, `C${at}`, ...Array<string>(20).fill('x'))).join('')}`,
})

/** Sends a file for each of the clients at once, and waits until those that were accepted have been imported. */
async function importTogether(
  server: { url: string },
  clients: Client[],
  file: Buffer | string,
  dataTypeId: string,
): Promise<void> {
  const name = typeof file === 'string' ? 'rows.csv' : 'cells.xlsx'
  await Promise.all(
    clients.map(async client => {
      const { status, body } = await upload(server, client, file, { dataTypeId }, name)
      if (status === 202) await ended(client, body.data._id)
    }),
  )
}

/** Each prepares itself, and returns what is repeated. */
const LOADS: { [name: string]: (context: Context) => Promise<() => Promise<unknown>> } = {
  nothing: async () => () => pause(EVERY_MS),
  '5 a rule of many positions, previewed seven times':
    async ({ owner }) =>
    () =>
      Promise.all(Array.from({ length: 7 }, () => owner.post('/task/schedules/preview', RULE))),
  '6 twenty lists with much configuration': async ({ owner }) => {
    const fields = Array.from({ length: 100 }, (_, at) => field(`f${at}`))
    for (let at = 0; at < 40; at++) await addType(owner, `Large ${at}`, fields)
    return () => Promise.all(Array.from({ length: 20 }, () => owner.get('/data?limit=1')))
  },
  '7 workbooks of many cells': async ({ server, owner }) => {
    const dataTypeId = await addType(owner, 'Workbook')
    return () => importTogether(server, Array<Client>(3).fill(owner), WORKBOOK, dataTypeId)
  },
  '8 a hundred webhooks beside an import': async ({ server, owner }) => {
    const dataTypeId = await addType(owner, 'Told')
    for (let at = 0; at < 100; at++)
      await make(owner, '/webhook', {
        url: 'https://203.0.113.1/',
        events: ['data-source-created'],
        description: `W${at}`,
      })
    return () => importFile(server, owner, rowsOf(400), { dataTypeId })
  },
  '9 a field becomes unique': async ({ server, owner }) => {
    const dataTypeId = await addType(owner, 'Unique')
    await importFile(server, owner, rowsOf(20_000), { dataTypeId })
    let unique = false
    return () => {
      unique = !unique
      return owner.put(`/data-type/${dataTypeId}`, {
        name: 'Unique',
        fields: [{ ...field('code'), unique }, field('note')],
      })
    }
  },
  '10 an import of 8,000 rows': async ({ server, owner }) => {
    const dataTypeId = await addType(owner, 'Imported')
    return () => importFile(server, owner, rowsOf(8_000), { dataTypeId })
  },
  '11 imports at once': async ({ server, owner }) => {
    const dataTypeId = await addType(owner, 'At once')
    return () => importTogether(server, Array<Client>(6).fill(owner), rowsOf(2_000), dataTypeId)
  },
  '11 workbooks in eight organizations of one person': async ({ server }) => {
    const owners: Client[] = []
    while (owners.length < 8) owners.push((await addOrganization(server, await signIn(server))).client)
    const types = await Promise.all(owners.map(one => addType(one, 'Workbook')))
    return () =>
      Promise.all(owners.map((one, at) => importTogether(server, [one], WORKBOOK, types[at] as string)))
  },
  '12 a thousand idle connections': async ({ server, signal }) => {
    const sockets: Socket[] = []
    signal.addEventListener('abort', () => {
      for (const socket of sockets) socket.destroy()
    })
    const { hostname, port } = new URL(server.url)
    return async () => {
      for (let at = 0; at < 100 && sockets.length < 1_000; at++)
        sockets.push(connect(Number(port), hostname).on('error', () => {}))
      await pause(EVERY_MS)
    }
  },
  '13 searches beside changes of one task': async ({ owner }) => {
    const id = await make(owner, '/task', { name: 'Changed' })
    let nth = 0
    return () =>
      Promise.all([
        owner.patch(`/task/${id}`, { name: `Changed ${nth++}` }),
        ...Array.from({ length: 150 }, () => owner.get('/tasks?search=nothing')),
      ])
  },
  '14 a thousand requests of one user':
    async ({ owner }) =>
    () =>
      Promise.all(Array.from({ length: 1_000 }, () => owner.get('/user'))),
}

/** Runs every load, or those whose name begins with the given text, beside a bystander. */
export async function runBystanderOn(
  server: { url: string },
  { only = '', log = () => {} }: { only?: string; log?: (line: string) => void },
): Promise<BystanderRow[]> {
  const bystander = (await addOrganization(server, await signIn(server))).client
  const rows: BystanderRow[] = []
  for (const [load, prepare] of Object.entries(LOADS)) {
    if (load !== 'nothing' && !load.startsWith(only)) continue
    const { client: owner } = await addOrganization(server, await signIn(server))
    const ending = new AbortController()
    const repeat = await prepare({ server, owner, signal: ending.signal })
    const watching = watch(server, bystander)
    const until = performance.now() + LOAD_MS
    while (performance.now() < until) await repeat()
    ending.abort()
    const row = { load, ...(await watching.end()) }
    rows.push(row)
    log(JSON.stringify(row))
  }
  return rows
}

/** Reads the own user again and again, and keeps a live socket open. */
function watch(server: { url: string }, { token }: Client) {
  let [closed, ended] = [0, false]
  const screen = openScreen(server, token)
  void screen.then(async one => {
    await one.closed
    if (!ended) closed++
  })
  const reader = new Worker(new URL('bystander-thread.mjs', import.meta.url), {
    workerData: { url: server.url, token, everyMs: EVERY_MS },
    execArgv: [],
  })
  return {
    async end(): Promise<Omit<BystanderRow, 'load'>> {
      reader.postMessage('end')
      const [{ waits, refused }] = (await once(reader, 'message')) as [{ waits: number[]; refused: number }]
      ended = true
      const one = await screen
      one.cut()
      await one.closed
      await reader.terminate()
      waits.sort((a, b) => a - b)
      const [medianMs, maxMs] = [waits[waits.length >> 1] ?? 0, waits.at(-1) ?? 0].map(Math.round) as [
        number,
        number,
      ]
      return {
        requests: waits.length,
        medianMs,
        maxMs,
        refused,
        closed,
        kept: maxMs <= MAX_MS && refused + closed === 0,
      }
    },
  }
}
