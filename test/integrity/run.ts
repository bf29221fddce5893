import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../services/postgres.ts'
import type { TestDatabase } from '../support/database.ts'
import { startTestKafka } from '../support/kafka.ts'
import { deployCluster } from './cluster.ts'
import { createOwnPostgres } from './own-postgres.ts'
import { type RoundsOptions, runRounds, runRoundsOn } from './rounds.ts'

const USAGE = `npm run integrity -- [--tier embedded|one-machine|cluster] [--rounds 100] [--devices 20] [--plain]

Kills a random process with -9 every round while devices publish, then compares every acknowledged point with the
history. --plain takes PostgreSQL without TimescaleDB.`

const { values } = parseArgs({
  options: {
    tier: { type: 'string', default: 'embedded' },
    rounds: { type: 'string', default: '100' },
    devices: { type: 'string', default: '20' },
    plain: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const run = { embedded: runEmbedded, 'one-machine': runOneMachine, cluster: runCluster }[values.tier]
  if (values.help || !run) {
    console.log(USAGE)
    return values.help ? 0 : 2
  }
  const options = {
    rounds: Number(values.rounds),
    devices: Number(values.devices),
    killWithinMs: 3_000,
    log: console.log,
  }
  const report = await run(options)
  console.table([report])
  const { lost, doubled, altered, invented } = report
  return lost + doubled + altered + invented === 0 ? 0 : 1
}

async function runEmbedded(options: RoundsOptions) {
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
  const remove = async () => rmSync(dataDir, { recursive: true, force: true })
  const database: TestDatabase = { kind: 'pglite', url: undefined, dataDir, remove }
  try {
    return await runRounds({ ...options, database })
  } finally {
    await remove()
  }
}

async function runOneMachine(options: RoundsOptions) {
  const postgres = await startPostgres({ own: true, timescaledb: !values.plain })
  if (!postgres.available || !postgres.control) throw new Error('PostgreSQL cannot be had here')
  try {
    const { database, victim } = await createOwnPostgres(postgres.url, postgres.control)
    return await runRounds({ ...options, database, victims: [victim] })
  } finally {
    await postgres.stop()
  }
}

async function runCluster(options: RoundsOptions) {
  const [postgres, kafka] = await Promise.all([
    startPostgres({ own: true, timescaledb: !values.plain }),
    startTestKafka(),
  ])
  try {
    if (!postgres.available || !postgres.control || kafka.missing)
      throw new Error('PostgreSQL and Kafka are needed')
    const { database, victim } = await createOwnPostgres(postgres.url, postgres.control)
    return await runRoundsOn(await deployCluster(database, kafka, [victim]), options)
  } finally {
    await kafka.stop()
    if (postgres.available) await postgres.stop()
  }
}

process.exitCode = await main()
