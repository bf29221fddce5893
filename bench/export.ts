import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openDatabase } from '../db/client.ts'
import type { ExportFormat, ExportLog } from '../db/queries/export-logs.ts'
import { quietMoment } from './cpu.ts'
import type { Options } from './options.ts'
import { count, median, progress, type Row } from './report.ts'
import { call, type Server, signIn, startFieldline } from './server.ts'
import type { Store, Tier } from './tiers.ts'

const RECORDS = 1_000_000
const FIELDS = [
  { key: 'code', label: 'Code', type: 'text' },
  { key: 'name', label: 'Name', type: 'text' },
  { key: 'email', label: 'E-mail', type: 'email' },
  { key: 'phone', label: 'Phone', type: 'phone' },
  { key: 'city', label: 'City', type: 'text' },
  { key: 'vip', label: 'VIP', type: 'boolean' },
  { key: 'revenue', label: 'Revenue', type: 'number' },
  { key: 'since', label: 'Since', type: 'date' },
]
const GOALS = { json: '0.30', xlsx: '0.50' }

/** A million data records into a file, as JSON beside COPY of the same rows and as XLSX beside exceljs alone. */
export async function benchExport(tier: Tier, options: Options): Promise<Row[]> {
  const store = await tier.fresh()
  try {
    const dataTypeId = await fill(store, options)
    const rows: Row[] = []
    for (const format of ['json', 'xlsx'] as const) {
      const ours: number[] = []
      const theirs: number[] = []
      const ratios: number[] = []
      let peakMiB = 0
      for (let round = 1; round <= options.rounds; round++) {
        await quietMoment(options.patienceSeconds)
        const begun = performance.now()
        await (format === 'json' ? copy(store, dataTypeId) : writeWorkbook(store))
        const beside = performance.now() - begun
        const server = await startFieldline(options, store)
        const token = await signIn(server)
        await quietMoment(options.patienceSeconds)
        const taken = await exportAll(server, token, dataTypeId, format)
        peakMiB = Math.max(peakMiB, peakOf(server))
        await server.stop()
        progress(`round ${round}: ${format} in ${seconds(taken)}, beside it ${seconds(beside)}`)
        ours.push(taken)
        theirs.push(beside)
        ratios.push(beside / taken)
      }
      rows.push({
        figure: `export of ${count(RECORDS)} records as ${format.toUpperCase()}, ${tier.name}`,
        ours: `${seconds(median(ours))}, ${count((RECORDS / median(ours)) * 1000)} records/s`,
        beside: `${seconds(median(theirs))}, ${format === 'json' ? 'psql COPY to a file' : 'exceljs alone'}`,
        ratio: median(ratios),
        goal: `${GOALS[format]}, within 512 MiB`,
        note: `${count(peakMiB)} MiB at the most, the whole process`,
      })
    }
    return rows
  } finally {
    await store.remove()
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** Straight in SQL, without the indexes of searches and filters, which nothing reads here. Returns the type. */
async function fill(store: Store, options: Options): Promise<string> {
  progress(`filling ${count(RECORDS)} records`)
  const server = await startFieldline(options, store)
  const made = await call<{ data: { _id: string } }>(
    server,
    '/data-type',
    { name: 'Customers', fields: FIELDS },
    await signIn(server),
  )
  await server.stop()
  const db = await openDatabase({ url: store.url, directory: store.directory, onError: () => {} })
  try {
    await db.writer.query('DROP INDEX data_records_search, data_records_values')
    await db.writer.query(
      `INSERT INTO data_records (id, organization_id, data_type_id, data, search)
       SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, t.organization_id, t.id,
         jsonb_build_object('code', 'C' || n, 'name', 'Customer number ' || n || ' Ltd', 'email',
           'contact' || n || '@example.com', 'phone', '+49 30 ' || lpad(n::text, 8, '0'), 'city', 'City ' || n % 50,
           'vip', n % 10000 = 0, 'revenue', n * 7919 % 1000003, 'since', 2000 + n % 25 || '-01-01'),
         'C' || n || E'\\nCustomer number ' || n || E' Ltd\\ncontact' || n || '@example.com'
       FROM data_types t, generate_series(1::int8, $2::int8) n WHERE t.id = $1`,
      [made.data._id, RECORDS],
    )
    await db.writer.query('VACUUM ANALYZE data_records')
    await db.writer.query('CHECKPOINT')
  } finally {
    await db.close()
  }
  return made.data._id
}

async function exportAll(
  server: Server,
  token: string,
  dataTypeId: string,
  format: ExportFormat,
): Promise<number> {
  const ordered = await call<{ data: ExportLog }>(server, '/data/export', { dataTypeId, format }, token)
  for (;;) {
    await sleep(100)
    const answer = await fetch(`${server.url}/api/v3/tasks/export-log/${ordered.data._id}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { status, processed, startedAt, finishedAt, error } = ((await answer.json()) as { data: ExportLog })
      .data
    if (status === 'failed') throw new Error(`The export failed: ${error}`)
    if (status !== 'completed') continue
    if (processed !== RECORDS) throw new Error(`${processed} records instead of ${RECORDS}`)
    return Date.parse(String(finishedAt)) - Date.parse(String(startedAt))
  }
}

/** The most memory that the processes had at any time. */
const peakOf = ({ pids }: Server) =>
  pids.reduce((sum, pid) => {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return sum + Number(kib) / 1024
  }, 0)

async function copy({ url = '', directory }: Store, dataTypeId: string): Promise<void> {
  const select = `SELECT id, data, is_sample, created_at, updated_at FROM data_records
    WHERE data_type_id = '${dataTypeId}' ORDER BY id`.replaceAll(/\s+/g, ' ')
  await promisify(execFile)('psql', [
    ...[url, '--no-psqlrc', '--command', `\\copy (${select}) to '${join(directory, 'records.copy')}'`],
  ])
}

async function writeWorkbook({ directory }: Store): Promise<void> {
  const script = join(import.meta.dirname, 'limit/workbook.ts')
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', script, join(directory, 'alone.xlsx'), String(RECORDS)],
    {
      stdio: 'inherit',
    },
  )
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`exceljs ended with ${code}`)
}
