import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../services/postgres.ts'
import { postgresMissing } from '../support/database.ts'
import { deployCluster } from './cluster.ts'
import { startKafkaNetwork } from './networks.ts'
import { outagesOf, runOutagesOn } from './outages.ts'
import { createOwnPostgres } from './own-postgres.ts'

const { kafka, network } = await startKafkaNetwork()
const missing = kafka.missing ?? postgresMissing()
afterAll(async () => {
  await network.proxy.close()
  await kafka.stop()
})

describe.skipIf(missing)(`Services that are away for a while${missing ? ` (${missing})` : ''}`, () => {
  let postgres: Extract<Awaited<ReturnType<typeof startPostgres>>, { available: true }>
  beforeAll(async () => {
    const service = await startPostgres({ own: true })
    if (!service.available) throw new Error(service.reason)
    postgres = service
  })
  afterAll(() => postgres.stop())

  it('cost no point and no connection, and nobody waits for the database', async context => {
    const { control } = postgres
    if (!control) return context.skip('The server is not ours to kill')
    const own = await createOwnPostgres(postgres.url, control)
    const cluster = await deployCluster(own.database, kafka)
    const lost = network.outages.filter(({ name }) => name === 'Kafka: answers lost')
    const { outages, report } = await runOutagesOn(
      cluster,
      [...lost, ...outagesOf('Kafka', kafka.control), ...outagesOf('PostgreSQL', control)],
      { seconds: 6, devices: 8, settleSeconds: 2, rate: 1_000 },
    )
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0, closed: 0 })
    expect(report.stored).toBe(report.acknowledged)
    const [cut, frozen, killed, ...database] = outages.map(
      ({ acknowledgedMeanwhile }) => acknowledgedMeanwhile,
    )
    // What was on its way when it began; then nothing is.
    for (const acknowledged of [cut, frozen, killed]) expect(acknowledged).toBeLessThan(2_000)
    for (const acknowledged of database) expect(acknowledged).toBeGreaterThan(2_000)
    await own.database.remove()
  }, 240_000)
})
