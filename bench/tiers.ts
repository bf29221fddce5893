import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openDatabase } from '../db/client.ts'
import { startKafka, startKafkaCluster } from '../test/services/kafka.ts'
import { startPostgres } from '../test/services/postgres.ts'
import type { Control } from '../test/services/services.ts'
import { cpuOf } from './cpu.ts'
import { type Checkout, type Device, makeDevices, type Place, startFieldline } from './server.ts'

export const TIERS = ['embedded', 'one-machine', 'cluster'] as const
export type TierName = (typeof TIERS)[number]

/** The data of one measurement: everything that a server, or a statement without one, needs to find it. */
export interface Store extends Place {
  /** PostgreSQL, or the directory of PGlite. */
  url?: string
  directory: string
  /** Processor seconds used by PostgreSQL and Kafka; 0 if the database is part of the server. */
  servicesCpu(): number
  /** Points in the table. In the embedded tier only while no server has it open. */
  countPoints(): Promise<number>
  remove(): Promise<void>
}

/** A tier with its database in the state after the first start and the creation of the devices. */
export interface Tier {
  name: TierName
  devices: Device[]
  /** Creates a copy of that database. */
  fresh(): Promise<Store>
  close(): Promise<void>
}

const DEVICES = 100

/** The services of a server, if they are not one PostgreSQL with syncs and one broker. */
export interface Services {
  /** False: PostgreSQL's commits are only in memory. */
  fsync?: boolean
  /** A second PostgreSQL, whose disk every commit waits for. */
  standby?: boolean
  /** Each broker has all data, and two must have a record before it is acknowledged. */
  threeBrokers?: boolean
}

/** Prepares a tier with the server of the checkout. */
export async function openTier(name: TierName, checkout: Checkout, services: Services = {}): Promise<Tier> {
  if (name === 'embedded') return openEmbedded(checkout)
  return name === 'cluster' ? openCluster(checkout, services) : openOneMachine(checkout, services)
}

async function openEmbedded(checkout: Checkout): Promise<Tier> {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-bench-'))
  const base = join(folder, 'base')
  const devices = await prepare(checkout, { DATA_DIR: base })
  let copies = 0
  return {
    name: 'embedded',
    devices,
    async fresh() {
      const dataDir = join(folder, `copy-${++copies}`)
      cpSync(base, dataDir, { recursive: true })
      const directory = join(dataDir, 'postgres')
      return {
        env: { DATA_DIR: dataDir },
        roles: [],
        directory,
        servicesCpu: () => 0,
        countPoints: () => countPoints({ directory }),
        remove: async () => rmSync(dataDir, { recursive: true, force: true }),
      }
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function openOneMachine(checkout: Checkout, services: Services): Promise<Tier> {
  // Acknowledged means durable, so both the service and its limit wait for the disk.
  const fsync = services.fsync === false ? 'off' : 'on'
  const settings = { fsync, ...(services.standby ? { synchronous_standby_names: '*' } : {}) }
  const postgres = await startPostgres({ own: true, settings })
  if (!postgres.available) throw new Error(postgres.reason)
  const controls = [postgres.control as Control]
  const standby = services.standby && (await startPostgres({ own: true, settings, standbyOf: postgres.url }))
  if (standby && !standby.available) throw new Error(standby.reason)
  if (standby) controls.push(standby.control as Control)
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-bench-'))
  const admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  const urlOf = (database: string) => Object.assign(new URL(postgres.url), { pathname: database }).href
  await admin.query('CREATE DATABASE bench_base')
  const devices = await prepare(checkout, {
    DATABASE_URL: urlOf('bench_base'),
    DATA_DIR: join(folder, 'base'),
  })
  let copies = 0
  return {
    name: 'one-machine',
    devices,
    async fresh() {
      const database = `bench_${++copies}`
      await admin.query(`CREATE DATABASE ${database} TEMPLATE bench_base`)
      await admin.query('CHECKPOINT')
      const url = urlOf(database)
      const directory = join(folder, database)
      mkdirSync(directory)
      return {
        env: { DATABASE_URL: url, DATA_DIR: directory },
        roles: [],
        url,
        directory,
        servicesCpu: () => cpuOf(controls.flatMap(control => control.processes())),
        countPoints: () => countPoints({ url, directory }),
        remove: async () => {
          await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
          rmSync(directory, { recursive: true, force: true })
        },
      }
    },
    async close() {
      await admin.end()
      if (standby) await standby.stop()
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** One machine with Kafka in between and a process for each role: one receives points and another stores them. */
async function openCluster(checkout: Checkout, services: Services): Promise<Tier> {
  const kafka = await (services.threeBrokers ? startKafkaCluster({}) : startKafka({ own: true }))
  if (!kafka.available) throw new Error(kafka.reason)
  const brokers = [kafka.brokers].flat().join(',')
  const controls = 'controls' in kafka ? kafka.controls : [kafka.control as Control]
  const tier = await openOneMachine(checkout, services)
  let topics = 0
  return {
    ...tier,
    name: 'cluster',
    async fresh() {
      const store = await tier.fresh()
      return {
        ...store,
        env: { ...store.env, KAFKA_BROKERS: brokers, KAFKA_PREFIX: `bench-${++topics}` },
        roles: ['api,live,jobs', 'ingest', 'writer'],
        servicesCpu: () => store.servicesCpu() + cpuOf(controls.flatMap(control => control.processes())),
      }
    },
    async close() {
      await tier.close()
      await kafka.stop()
    },
  }
}

async function prepare(checkout: Checkout, env: Record<string, string>): Promise<Device[]> {
  const server = await startFieldline(checkout, { env, roles: [] })
  try {
    return await makeDevices(server, DEVICES)
  } finally {
    await server.stop()
  }
}

async function countPoints(place: { url?: string; directory: string }): Promise<number> {
  // Errors fail the query itself; a connection that DROP DATABASE ends is expected.
  const db = await openDatabase({ ...place, onError: () => {} })
  try {
    const [row] = await db.system.query<{ count: number }>('SELECT count(*)::int4 AS count FROM points')
    return row?.count ?? 0
  } finally {
    await db.close()
  }
}
