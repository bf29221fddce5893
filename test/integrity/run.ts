import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../services/postgres.ts'
import type { TestDatabase } from '../support/database.ts'
import { createOwnPostgres } from './own-postgres.ts'
import { type RoundsOptions, runRounds } from './rounds.ts'

const USAGE = `npm run integrity -- [--tier embedded|one-machine] [--rounds 100] [--devices 20] [--plain]

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
  if (values.help || !['embedded', 'one-machine'].includes(values.tier)) {
    console.log(USAGE)
    return values.help ? 0 : 2
  }
  const options = {
    rounds: Number(values.rounds),
    devices: Number(values.devices),
    killWithinMs: 3_000,
    log: console.log,
  }
  const report = values.tier === 'embedded' ? await runEmbedded(options) : await runOneMachine(options)
  console.table([report])
  const { lost, doubled, altered, invented } = report
  return lost + doubled + altered + invented === 0 ? 0 : 1
}

async function runEmbedded(options: Omit<RoundsOptions, 'database'>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
  const remove = async () => rmSync(dataDir, { recursive: true, force: true })
  const database: TestDatabase = { kind: 'pglite', url: undefined, dataDir, remove }
  try {
    return await runRounds({ ...options, database })
  } finally {
    await remove()
  }
}

async function runOneMachine(options: Omit<RoundsOptions, 'database'>) {
  const postgres = await startPostgres({ own: true, timescaledb: !values.plain })
  if (!postgres.available || !postgres.control) throw new Error('PostgreSQL cannot be had here')
  try {
    const { database, victim } = await createOwnPostgres(postgres.url, postgres.control)
    return await runRounds({ ...options, database, victims: [victim] })
  } finally {
    await postgres.stop()
  }
}

process.exitCode = await main()
