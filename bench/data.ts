/**
 * `npx tsx bench/data.ts [10000 1000000]`: measures lists, filters, searches and writes of data records of one type, in
 * a table with up to 100,000 records of another organization. It calls the queries directly, and prints a Markdown
 * table in milliseconds.
 */
import pg from 'pg'
import { createDatabase, type Database, newId } from '../db/client.ts'
import { openPostgres } from '../db/drivers/postgres.ts'
import { migrate } from '../db/migrate.ts'
import { findRecordByKey, insertRecords, newRecords } from '../db/queries/data.ts'
import { type DataType, findDataType, insertDataType } from '../db/queries/data-types.ts'
import type { Values } from '../db/schema/data-records.ts'
import type { Field } from '../db/schema/flows.ts'
import { readPageRequest } from '../src/http/lists.ts'
import { dataAccess } from '../src/resources/data/access.ts'
import { listRecords, sortsOf } from '../src/resources/data/find.ts'
import { startPostgres } from '../test/services/postgres.ts'

const BATCH = 5_000
const REPEAT = 15
const CITIES = 50

const field = (key: string, type: Field['type'], unique = false): Field => ({
  key,
  label: key,
  type,
  required: false,
  unique,
  options: [],
  order: 0,
  dataTypeId: null,
})
const FIELDS = [
  field('code', 'text', true),
  field('name', 'text'),
  field('email', 'email', true),
  field('phone', 'phone'),
  field('city', 'text'),
  field('vip', 'boolean'),
  field('revenue', 'number'),
  field('since', 'date'),
]

const word = (seed: number) =>
  Array.from({ length: 8 }, (_, at) => String.fromCharCode(97 + ((seed * (at * 7 + 3)) % 26))).join('')
const customer = (index: number): Values => ({
  code: `C${index}`,
  name: `${word(index)} ${word(index * 31 + 7)} Ltd`,
  email: `contact${index}@example.com`,
  phone: `+49 30 ${String(index).padStart(8, '0')}`,
  city: `City ${index % CITIES}`,
  vip: index % 10_000 === 0,
  revenue: (index * 7919) % 1_000_003,
  since: `20${String(index % 25).padStart(2, '0')}-01-01`,
})

async function fill(
  db: Database,
  count: number,
): Promise<{ organizationId: string; type: DataType; rate: number }> {
  const organizationId = newId()
  await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [organizationId, 'Bench'])
  const type = await db.system.transaction(async tx => {
    const dataTypeId = await insertDataType(tx, organizationId, {
      name: 'Customer',
      type: 'customer',
      primaryKey: 'code',
      fields: FIELDS,
    })
    return (await findDataType(tx, organizationId, { dataTypeId })) as DataType
  })
  const started = performance.now()
  for (let from = 0; from < count; from += BATCH) {
    const values = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => customer(from + at))
    await db.system.transaction(tx => insertRecords(tx, organizationId, type, newRecords(values)))
  }
  return { organizationId, type, rate: count / ((performance.now() - started) / 1000) }
}

async function measure(work: () => Promise<unknown>): Promise<string> {
  const times: number[] = []
  for (let round = 0; round < REPEAT; round++) {
    const started = performance.now()
    await work()
    times.push(performance.now() - started)
  }
  times.sort((a, b) => a - b)
  return `${(times[REPEAT >> 1] as number).toFixed(1)} (${(times[REPEAT - 1] as number).toFixed(1)})`
}

async function bench(db: Database, count: number): Promise<[string, string][]> {
  await fill(db, Math.min(count, 100_000))
  const { organizationId, type, rate } = await fill(db, count)
  await db.system.query('VACUUM ANALYZE data_records')
  await db.system.query('VACUUM ANALYZE data_keys')
  const detail = { permissionName: 'view/data', scope: 'all' as const }
  const open = dataAccess({ permissionDetails: [detail] }, 'view/data')
  const dataTypes = [{ dataTypeId: type._id, restrictedFields: ['phone'] }]
  const restricted = dataAccess({ permissionDetails: [{ ...detail, dataTypes }] }, 'view/data')
  const list = (
    {
      filter = {},
      search,
      sort = 'createdAt',
      oneType = true,
    }: { filter?: Record<string, string>; search?: string; sort?: string; oneType?: boolean },
    access = open,
  ) => {
    const request = { types: [type], oneType, filter, fields: undefined, sort }
    const page = readPageRequest({ limit: 50, search, sort }, sortsOf(request))
    return listRecords(db, organizationId, access, request, page)
  }
  const last = count - 5
  let next = count
  const cases: [string, () => Promise<unknown>][] = [
    ['first page', () => list({})],
    ['first page, newest first', () => list({ sort: '-createdAt' })],
    ['first page of all types', () => list({ oneType: false })],
    ['by primary key', () => findRecordByKey(db.system, organizationId, type._id, 'code', `C${last}`)],
    ['filter, one match', () => list({ filter: { phone: customer(last).phone as string } })],
    ['filter, no match', () => list({ filter: { phone: '+49 30 99999999' } })],
    ['filter, 1 in 10,000', () => list({ filter: { vip: 'true' } })],
    ['filter, 1 in 50', () => list({ filter: { city: 'City 7' } })],
    ['filter, all but 1 in 10,000', () => list({ filter: { vip: 'false' } })],
    ['filter on two fields', () => list({ filter: { city: 'City 7', since: '2007-01-01' } })],
    ['search, one match', () => list({ search: `contact${last}@` })],
    ['search, no match', () => list({ search: 'nobody has this' })],
    ['search, 1 in 50', () => list({ search: 'city 17' })],
    ['search, all match', () => list({ search: 'example' })],
    ['search with a restricted field, one match', () => list({ search: `contact${last}@` }, restricted)],
    ['search of what is restricted', () => list({ search: customer(last).phone as string }, restricted)],
    ['search of two letters', () => list({ search: 'zq' })],
    ['sorted by a text', () => list({ sort: 'name' })],
    ['sorted by a number', () => list({ sort: '-revenue' })],
    [
      'make a record',
      () =>
        db.system.transaction(tx => insertRecords(tx, organizationId, type, newRecords([customer(next++)]))),
    ],
  ]
  const rows: [string, string][] = [['records made a second, 5,000 a transaction', rate.toFixed(0)]]
  for (const [name, work] of cases) {
    await work()
    rows.push([name, await measure(work)])
    process.stderr.write(`${count}: ${name} ${rows.at(-1)?.[1]}\n`)
  }
  const [size] = await db.system.query<{ table: number; all: number }>(
    `SELECT pg_table_size('data_records') AS table, pg_total_relation_size('data_records') +
       pg_total_relation_size('data_keys') AS all`,
  )
  rows.push([
    'bytes a record, with indexes and keys',
    ((size?.all ?? 0) / (count + Math.min(count, 100_000))).toFixed(0),
  ])
  return rows
}

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10_000, 1_000_000]
const server = await startPostgres({})
if (!server.available) throw new Error(server.reason)
const results: [string, string][][] = []
for (const count of sizes) {
  const name = `bench_data_${count}`
  const administrator = new pg.Client({ connectionString: server.url })
  await administrator.connect()
  await administrator.query(`DROP DATABASE IF EXISTS ${name}`)
  await administrator.query(`CREATE DATABASE ${name}`)
  const url = new URL(server.url)
  url.pathname = name
  const driver = openPostgres({ url: url.href, directUrl: url.href, onError: error => console.error(error) })
  await migrate(driver)
  const db = createDatabase(driver, error => console.error(error))
  results.push(await bench(db, count))
  await db.close()
  await administrator.query(`DROP DATABASE ${name}`)
  await administrator.end()
}
await server.stop()
process.stdout.write(
  `| median (worst) of ${REPEAT}, ms | ${sizes.map(size => size.toLocaleString('en')).join(' | ')} |\n`,
)
process.stdout.write(`| --- |${' --- |'.repeat(sizes.length)}\n`)
for (const [at, [name]] of (results[0] ?? []).entries()) {
  process.stdout.write(`| ${name} | ${results.map(rows => rows[at]?.[1]).join(' | ')} |\n`)
}
