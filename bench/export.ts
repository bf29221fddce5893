import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openDatabase } from '../db/client.ts'
import type { ExportFormat, ExportLog } from '../db/queries/export-logs.ts'
import { ingestBeside } from './beside.ts'
import { cpuOf, quietMoment } from './cpu.ts'
import { CUSTOMERS } from './customers.ts'
import { runScript } from './load/run-process.ts'
import type { Options } from './options.ts'
import { count, median, progress, type Row, seconds } from './report.ts'
import { call, get, peakMiB, type Server, signIn, startFieldline } from './server.ts'
import type { Store, Tier } from './tiers.ts'

const GOALS = { json: '0.30', xlsx: '0.50' }

/**
 * Measures the export of a million data records: JSON compared to COPY of the same rows, XLSX compared to exceljs alone.
 */
export async function benchExport(tier: Tier, options: Options): Promise<Row[]> {
  const store = await tier.fresh()
  try {
    const dataTypeId = await fill(store, options)
    const rows: Row[] = []
    for (const format of ['json', 'xlsx'] as const) {
      const ours: number[] = []
      const theirs: number[] = []
      const ratios: number[] = []
      const cpu: number[] = []
      let peak = 0
      for (let round = 1; round <= options.rounds; round++) {
        await quietMoment(options.patienceSeconds)
        const begun = performance.now()
        await (format === 'json' ? copy(store, dataTypeId) : writeWorkbook(store, options))
        const beside = performance.now() - begun
        const server = await startFieldline(options, store)
        const token = await signIn(server)
        await quietMoment(options.patienceSeconds)
        const processor = () => store.servicesCpu() + cpuOf(server.pids)
        const before = processor()
        const taken = await exportAll(server, token, dataTypeId, format, options.records)
        cpu.push((processor() - before) / options.records)
        peak = Math.max(peak, peakMiB(server))
        await server.stop()
        progress(`round ${round}: ${format} in ${seconds(taken)}, beside it ${seconds(beside)}`)
        ours.push(taken)
        theirs.push(beside)
        ratios.push(beside / taken)
      }
      rows.push({
        figure: `export of ${count(options.records)} records as ${format.toUpperCase()}, ${tier.name}`,
        ours: `${seconds(median(ours))}, ${count((options.records / median(ours)) * 1000)} records/s`,
        beside: `${seconds(median(theirs))}, ${format === 'json' ? 'psql COPY to a file' : 'exceljs alone'}`,
        ratio: median(ratios),
        goal: `${GOALS[format]}, within 512 MiB`,
        note: `${count(peak)} MiB at the most, the whole process; ${(median(cpu) * 1e6).toFixed(1)} µs of processor a record`,
      })
    }
    return rows
  } finally {
    await store.remove()
  }
}

/** Measures points of devices during an export. */
export const benchBesideExport = (tier: Tier, options: Options): Promise<Row> =>
  ingestBeside(tier, options, 'export', async store => {
    const dataTypeId = await fill(store, options)
    return async server => {
      const token = await signIn(server)
      const exportId = await order(server, token, dataTypeId, 'json')
      return { isDone: async () => (await readLog(server, token, exportId)).finishedAt !== null }
    }
  })

/**
 * Inserts the records by SQL, without the indexes of searches and filters, which the export does not use. Returns the
 * type.
 */
async function fill(store: Store, options: Options): Promise<string> {
  progress(`filling ${count(options.records)} records`)
  const server = await startFieldline(options, store)
  const made = await call<{ data: { _id: string } }>(server, '/data-type', CUSTOMERS, await signIn(server))
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
      [made.data._id, options.records],
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
  records: number,
): Promise<number> {
  const exportId = await order(server, token, dataTypeId, format)
  for (;;) {
    await sleep(100)
    const { status, processed, startedAt, finishedAt, error } = await readLog(server, token, exportId)
    if (status === 'failed') throw new Error(`The export failed: ${error}`)
    if (status !== 'completed') continue
    if (processed !== records) throw new Error(`${processed} records instead of ${records}`)
    return Date.parse(String(finishedAt)) - Date.parse(String(startedAt))
  }
}

/** Orders an export in the background, and returns its identifier. */
async function order(
  server: Server,
  token: string,
  dataTypeId: string,
  format: ExportFormat,
): Promise<string> {
  const path = '/data/export'
  return (await call<{ data: ExportLog }>(server, path, { dataTypeId, format }, token)).data._id
}

const readLog = async (server: Server, token: string, id: string): Promise<ExportLog> =>
  (await get<{ data: ExportLog }>(server, `/tasks/export-log/${id}`, token)).data

async function copy({ url = '', directory }: Store, dataTypeId: string): Promise<void> {
  const select = `SELECT id, data, is_sample, created_at, updated_at FROM data_records
    WHERE data_type_id = '${dataTypeId}' ORDER BY id`.replaceAll(/\s+/g, ' ')
  await promisify(execFile)('psql', [
    ...[url, '--no-psqlrc', '--command', `\\copy (${select}) to '${join(directory, 'records.copy')}'`],
  ])
}

const writeWorkbook = ({ directory }: Store, { records }: Options) =>
  runScript('limit/workbook.ts', [join(directory, 'alone.xlsx'), String(records)])
