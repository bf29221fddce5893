import { afterAll, expect, it } from 'vitest'
import { postgresMissing } from '../support/database.ts'
import { startBrokers } from './brokers.ts'
import { deployCluster } from './cluster.ts'
import { deployServer, runRoundsOn } from './rounds.ts'
import { startPrimaryAndStandby } from './standby.ts'

const missing = postgresMissing()
const kept = { lost: 0, doubled: 0, altered: 0, invented: 0 }
const load = { devices: 8, killWithinMs: 1_500, rate: 400 }
/** The second test continues with the standby that replaced the primary in the first test. */
const machines = missing ? null : await startPrimaryAndStandby()
afterAll(() => machines?.stop())

it('Every acknowledged point is in the history exactly once, though the primary is lost and the standby takes its place', async context => {
  if (!machines) return context.skip(missing)
  const deployment = await deployServer(machines.database)
  const report = await runRoundsOn({ ...deployment, victims: [machines.victim] }, { ...load, rounds: 1 })
  expect(report).toMatchObject(kept)
  expect(report.acknowledged).toBeGreaterThan(200)
})

it('So it is in a cluster of three brokers and a standby, of which each is lost with its disk', async context => {
  if (!machines) return context.skip(missing)
  const kafka = await startBrokers().catch((error: Error) => error)
  if (kafka instanceof Error) {
    if (process.env.REQUIRE_SERVICES === '1') throw kafka
    return context.skip(kafka.message)
  }
  const cluster = await deployCluster(machines.database, kafka)
  const victims = [...kafka.victims, machines.victim]
  const report = await runRoundsOn({ ...cluster, victims }, { ...load, rounds: victims.length })
  expect(report).toMatchObject(kept)
  expect(report.acknowledged).toBeGreaterThan(200)
  await kafka.stop()
})
