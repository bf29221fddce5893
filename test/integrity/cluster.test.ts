import { afterAll, describe, expect, it } from 'vitest'
import { readNewest, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing } from '../support/database.ts'
import { startTestKafka } from '../support/kafka.ts'
import { shows } from '../support/screen.ts'
import { until } from '../support/wait.ts'
import { deployCluster, toBroker } from './cluster.ts'
import { runRoundsOn } from './rounds.ts'
import { startWatcher } from './watcher.ts'

const kafka = await startTestKafka()
const missing = kafka.missing ?? postgresMissing()
afterAll(() => kafka.stop())

describe.skipIf(missing)(`In the cluster tier${missing ? ` (${missing})` : ''}`, () => {
  it('every acknowledged point is stored once, and shown, though each process and Kafka are killed', async () => {
    const database = await createTestDatabase('postgres')
    const cluster = await deployCluster(database, kafka, [toBroker(kafka)])
    const owner = await signIn(cluster)
    const watcher = await startWatcher(() => cluster.servers.live.url, owner)
    const report = await runRoundsOn(
      {
        ...cluster,
        async settle() {
          await cluster.settle()
          const newest = await readNewest(owner)
          // The publishers, and the walker.
          expect(newest.size).toBe(9)
          await until('the screen shows what the database holds', () => shows(watcher.screen, newest))
          await watcher.stop()
        },
      },
      { rounds: 6, devices: 8, killWithinMs: 2_000, rate: 1_000, log: line => console.log(line) },
    )
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
    expect(report.acknowledged).toBeGreaterThan(500)
    expect(watcher).toMatchObject({ resumed: 1, backwards: 0, snapshots: 0 })
    await database.remove()
  }, 240_000)
})
