import { execFile } from 'node:child_process'
import { createWriteStream, mkdtempSync, openAsBlob, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Import } from '../db/queries/imports.ts'
import { searchText } from '../db/record-text.ts'
import { ingestBeside } from './beside.ts'
import { cpuOf, quietMoment } from './cpu.ts'
import { CUSTOMERS, customer, HEADINGS } from './customers.ts'
import { runScript } from './load/run-process.ts'
import type { Options } from './options.ts'
import { count, median, progress, type Row, seconds } from './report.ts'
import { call, get, peakMiB, type Server, signIn, startFieldline } from './server.ts'
import type { Tier } from './tiers.ts'

const FORMATS = ['csv', 'xlsx'] as const
type Format = (typeof FORMATS)[number]
const GOALS = { csv: '25,000 rows/s, within 512 MiB', xlsx: '15,000 rows/s, within 512 MiB' }
const READ_GOAL = '0.50'
const LINES_AT_ONCE = 1_000

/** The time and the processor time of one measurement. */
interface Taken {
  ms: number
  cpuSeconds: number
}

/**
 * Measures the import of records with a primary key from a CSV file and from a workbook, compared to COPY of the same
 * records into the same table, and to exceljs alone reading that workbook.
 */
export async function benchImport(tier: Tier, options: Options): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-bench-import-'))
  try {
    progress(`writing files of ${count(options.records)} rows`)
    const files = { csv: join(folder, 'rows.csv'), xlsx: join(folder, 'rows.xlsx') }
    await writeCsv(files.csv, options.records)
    await runScript('limit/workbook.ts', [files.xlsx, String(options.records)])
    const rows: Row[] = []
    for (const format of FORMATS) rows.push(...(await benchFormat(tier, options, format, files[format])))
    return rows
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Measures points of devices during an import. */
export async function benchBesideImport(tier: Tier, options: Options): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-bench-import-'))
  const file = join(folder, 'rows.csv')
  try {
    await writeCsv(file, options.records)
    return await ingestBeside(tier, options, 'import', async () => async server => {
      const token = await signIn(server)
      const importId = await send(server, token, await makeType(server, token), file)
      const read = () => readImport(server, token, importId)
      return { isDone: async () => (await read()).finishedAt !== null }
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function benchFormat(tier: Tier, options: Options, format: Format, file: string): Promise<Row[]> {
  const ours: Taken[] = []
  const copies: Taken[] = []
  const readings: Taken[] = []
  let peak = 0
  for (let round = 1; round <= options.rounds; round++) {
    await quietMoment(options.patienceSeconds)
    copies.push(await copyRecords(tier, options))
    if (format === 'xlsx') {
      await quietMoment(options.patienceSeconds)
      const begun = performance.now()
      await runScript('limit/read-workbook.ts', [file, String(options.records)])
      readings.push({ ms: performance.now() - begun, cpuSeconds: 0 })
    }
    const { taken, peakMiB } = await importRecords(tier, options, file)
    ours.push(taken)
    peak = Math.max(peak, peakMiB)
    const beside = readings.at(-1)
    progress(
      `round ${round}: ${format} in ${seconds(taken.ms)} (${taken.cpuSeconds.toFixed(1)} s of processor), COPY in ` +
        `${seconds(copies.at(-1)?.ms ?? 0)} (${copies.at(-1)?.cpuSeconds.toFixed(1)} s)${beside ? `, exceljs in ${seconds(beside.ms)}` : ''}`,
    )
  }
  const time = (all: readonly Taken[]) => median(all.map(({ ms }) => ms))
  const cpu = (all: readonly Taken[]) =>
    (median(all.map(({ cpuSeconds }) => cpuSeconds)) / options.records) * 1e6
  const ratio = (all: readonly Taken[]) => median(ours.map(({ ms }, at) => (all[at]?.ms ?? 0) / ms))
  const figure = `import of ${count(options.records)} rows of ${format.toUpperCase()}, ${tier.name}`
  const shown = (all: readonly Taken[]) =>
    `${seconds(time(all))}, ${count((options.records / time(all)) * 1000)} rows/s`
  return [
    {
      figure,
      ours: shown(ours),
      beside: `${shown(copies)}, psql COPY of the records`,
      ratio: ratio(copies),
      goal: GOALS[format],
      note: `${count(peak)} MiB at the most, the whole process; ${cpu(ours).toFixed(0)} µs of processor a row, of COPY ${cpu(copies).toFixed(0)}`,
    },
    ...(readings.length > 0
      ? [
          {
            figure,
            ours: shown(ours),
            beside: `${shown(readings)}, exceljs reading alone`,
            ratio: ratio(readings),
            goal: READ_GOAL,
          },
        ]
      : []),
  ]
}

async function writeLines(
  path: string,
  lines: number,
  line: (n: number) => string,
  header = '',
): Promise<void> {
  const text = function* () {
    yield header
    for (let first = 1; first <= lines; first += LINES_AT_ONCE) {
      const some = Math.min(LINES_AT_ONCE, lines - first + 1)
      yield Array.from({ length: some }, (_, at) => line(first + at)).join('')
    }
  }
  await pipeline(Readable.from(text()), createWriteStream(path))
}

const writeCsv = (path: string, rows: number) =>
  writeLines(path, rows, n => `${Object.values(customer(n)).join(',')}\n`, `${HEADINGS.join(',')}\n`)

async function makeType(server: Server, token: string): Promise<string> {
  return (await call<{ data: { _id: string } }>(server, '/data-type', CUSTOMERS, token)).data._id
}

/**
 * Copies the records of a type into the empty table with all its indexes, but without the keys that an import also
 * writes.
 */
async function copyRecords(tier: Tier, options: Options): Promise<Taken> {
  const store = await tier.fresh()
  try {
    const server = await startFieldline(options, store)
    const token = await signIn(server)
    const dataTypeId = await makeType(server, token)
    const { data: organization } = await get<{ data: { _id: string } }>(server, '/organization', token)
    await server.stop()
    const file = join(store.directory, 'records.copy')
    await writeLines(file, options.records, n => {
      const data = customer(n)
      const id = `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
      const search = searchText(data).replaceAll('\n', '\\n')
      return `${[id, organization._id, dataTypeId, JSON.stringify(data), search].join('\t')}\n`
    })
    const begun = performance.now()
    const before = store.servicesCpu()
    const columns = 'id, organization_id, data_type_id, data, search'
    await promisify(execFile)('psql', [
      ...[store.url ?? '', '--no-psqlrc', '--set', 'ON_ERROR_STOP=1'],
      ...['--command', `\\copy data_records (${columns}) from '${file}'`],
    ])
    return { ms: performance.now() - begun, cpuSeconds: store.servicesCpu() - before }
  } finally {
    await store.remove()
  }
}

async function importRecords(
  tier: Tier,
  options: Options,
  file: string,
): Promise<{ taken: Taken; peakMiB: number }> {
  const store = await tier.fresh()
  try {
    const server = await startFieldline(options, store)
    const token = await signIn(server)
    const dataTypeId = await makeType(server, token)
    await quietMoment(options.patienceSeconds)
    const cpu = () => store.servicesCpu() + cpuOf(server.pids)
    const before = cpu()
    const importId = await send(server, token, dataTypeId, file)
    let done = await readImport(server, token, importId)
    while (done.finishedAt === null) {
      await sleep(100)
      done = await readImport(server, token, importId)
    }
    const cpuSeconds = cpu() - before
    const peak = peakMiB(server)
    await server.stop()
    if (done.created !== options.records) {
      throw new Error(`${done.status}: ${done.created} of ${options.records} records, ${done.error}`)
    }
    const ms = Date.parse(String(done.finishedAt)) - Date.parse(String(done.startedAt))
    return { taken: { ms, cpuSeconds }, peakMiB: peak }
  } finally {
    await store.remove()
  }
}

/** Uploads a file, and returns the identifier of its import. */
async function send(server: Server, token: string, dataTypeId: string, file: string): Promise<string> {
  const form = new FormData()
  form.append('dataTypeId', dataTypeId)
  form.append('file', await openAsBlob(file), file)
  const response = await fetch(`${server.url}/api/v3/data/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
  })
  if (!response.ok) throw new Error(`The import is refused: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { data: { _id: string } }).data._id
}

const readImport = async (server: Server, token: string, id: string): Promise<Import> =>
  (await get<{ data: Import }>(server, `/import-monitoring/${id}`, token)).data
