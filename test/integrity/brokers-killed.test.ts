import { afterAll, expect, it } from 'vitest'
import { startMosquitto } from '../services/mosquitto.ts'
import { createTestDatabase, usualKind } from '../support/database.ts'
import { FOREIGN_ENV, runForeignBrokerOn } from './foreign-broker.ts'
import { deployServer } from './rounds.ts'

const kept = { lost: 0, doubled: 0, altered: 0, invented: 0 }
const load = { devices: 8, killWithinMs: 1_000, rate: 200 }
const removals: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const remove of removals.reverse()) await remove()
})

const mosquitto = await startMosquitto()
if (mosquitto.available) await mosquitto.stop()

// The server is killed in the first round, Mosquitto with its disk in the second. cluster.test.ts tests the takeover.
it('What another broker has to deliver is stored exactly once, whenever Fieldline or the broker is killed', async context => {
  if (!mosquitto.available) return context.skip(mosquitto.reason)
  const database = await createTestDatabase(usualKind())
  removals.push(database.remove)
  const deployment = await deployServer(database, [], FOREIGN_ENV)
  const report = await runForeignBrokerOn(deployment, { ...load, rounds: 2 })
  expect(report).toMatchObject(kept)
  expect(report.taken).toBeGreaterThan(200)
})
