import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { startTestKafka } from '../support/kafka.ts'
import type { ServerProcess } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { type Cluster, deployCluster, startProcess } from './cluster.ts'
import { cutAtRandom } from './cuts.ts'
import { countAcknowledged, type Publisher, startPublishers } from './publisher.ts'

const kafka = await startTestKafka()
const missing = kafka.missing ?? postgresMissing()
afterAll(() => kafka.stop())

describe.skipIf(missing)(`Several processes of one role${missing ? ` (${missing})` : ''}`, () => {
  let database: TestDatabase
  let cluster: Cluster
  let owner: Client
  let publishers: Publisher[]
  const more: ServerProcess[] = []

  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    cluster = await deployCluster(database, kafka)
    owner = await signIn(cluster)
  })
  beforeEach(async () => {
    publishers = await startPublishers(owner, () => cluster.mqttPort, 8, { rate: 1_000 })
  })
  afterEach(async () => {
    for (const server of more.splice(0)) expect(await server.stop()).toBe(0)
  })
  afterAll(async () => {
    await cluster.stop()
    await database.remove()
  })

  it('live: a client goes on at another one with its cursor, whichever has read further', async () => {
    more.push(await startProcess(database, kafka, 'live'))
    const servers = () => [cluster.servers.live, ...more]
    await cutAtRandom({ servers, owner, publishers, cuts: 15 })
  })

  // What the writers are kept from: the points, or the newest fixes when the points have been put into the table.
  it.each(['points', 'newest_fixes'])(
    'writers: one is killed in the middle of a batch before %s, a third joins, and nothing is doubled',
    async table => {
      const writers = [cluster.servers['the first writer'], cluster.servers['the second writer']] as const
      await until('both writers store', async () =>
        (await Promise.all(writers.map(countStored))).every(n => n > 100),
      )
      const lock = new pg.Client({ connectionString: database.url })
      await lock.connect()
      await lock.query('BEGIN')
      await lock.query(`LOCK TABLE ${table} IN SHARE MODE`)
      await until('both writers have a batch in hand', async () =>
        (await Promise.all(writers.map(readUnstoredSeconds))).every(seconds => seconds > 0.5),
      )
      const acknowledged = countAcknowledged(publishers)
      await writers[0].kill9()
      more.push(await startProcess(database, kafka, 'writer'))
      await pause(1_000)
      await lock.query('COMMIT')
      await lock.end()
      await until('the third stores', async () => (await countStored(more[0] as ServerProcess)) > 100, 30_000)
      // Nobody was held up by any of it.
      expect(countAcknowledged(publishers)).toBeGreaterThan(acknowledged + 1_000)
      await Promise.all(publishers.map(publisher => publisher.finish()))
      await cluster.settle()
      const report = await checkHistories(owner, publishers)
      expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
      expect(report.stored).toBe(report.acknowledged)
      await cluster.restart('the first writer')
    },
  )
})

const countStored = async (server: ServerProcess) =>
  (await readFigures(server)).get('fieldline_stored_total{kind="point"}') ?? 0
const readUnstoredSeconds = async (server: ServerProcess) =>
  (await readFigures(server)).get('fieldline_log_unstored_seconds') ?? 0
