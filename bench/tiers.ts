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

/** Where the data of one measurement lives: what a server, or a statement without one, needs to find it. */
export interface Store extends Place {
  /** PostgreSQL, or the folder of PGlite. */
  url?: string
  directory: string
  /** Processor seconds that PostgreSQL and Kafka have used; 0 where the database is a part of the server's. */
  servicesCpu(): number
  /** Points in the table. In the embedded tier only while no server has it open. */
  countPoints(): Promise<number>
  remove(): Promise<void>
}

/** A tier with its database as the first start and the making of the devices left it. */
export interface Tier {
  name: TierName
  devices: Device[]
  /** A copy of that database. */
  fresh(): Promise<Store>
  close(): Promise<void>
}

const DEVICES = 100

/** What stands behind a server, where it is not one PostgreSQL that syncs and one broker. */
export interface Services {
  /** False: what PostgreSQL commits is in memory alone. */
  fsync?: boolean
  /** A second PostgreSQL, without whose disk nothing is committed. */
  standby?: boolean
  /** Each has everything, and two have to before it is acknowledged. */
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
  // Acknowledged is durable, so the disk is waited for, in the service and in its limit alike.
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

/** As one machine, with a Kafka between and each process doing its part: points come in at one and are stored by another. */
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
  // What fails fails the query; a connection that DROP DATABASE ends is no news.
  const db = await openDatabase({ ...place, onError: () => {} })
  try {
    const [row] = await db.system.query<{ count: number }>('SELECT count(*)::int4 AS count FROM points')
    return row?.count ?? 0
  } finally {
    await db.close()
  }
}
