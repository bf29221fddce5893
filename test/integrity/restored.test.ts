import { Kafka, logLevel } from 'kafkajs'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { isStored, readFigures } from '../support/figures.ts'
import { startTestKafka } from '../support/kafka.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'

const kafka = await startTestKafka()
const missing = kafka.missing ?? postgresMissing()
afterAll(() => kafka.stop())

const POINTS = 60

describe.skipIf(missing)(`A database that is restored from a dump${missing ? ` (${missing})` : ''}`, () => {
  const start = (database: TestDatabase) =>
    openServer(database, { KAFKA_BROKERS: kafka.brokers.join(), KAFKA_PARTITIONS: '4' })
  const now = Date.now()
  const point = (index: number) => ({
    lat: 1,
    lng: index / 1_000,
    timestamp: now - 1_000_000 + index * 1_000,
  })

  async function send(server: Server, device: { id: string; key: string }, from: number, to: number) {
    const client = await connectDevice(server, device)
    for (let index = from; index < to; index++) await publish(client, device, point(index))
    await client.endAsync()
  }

  const publishWrong = async (server: Server, device: { id: string; key: string }) => {
    const client = await connectDevice(server, device)
    await publish(client, device, { lat: 91, lng: 0, timestamp: now })
    await client.endAsync()
  }

  it('gets back from Kafka all that was acknowledged since, once, and tells how much', async () => {
    const database = await createTestDatabase('postgres')
    let server = await start(database)
    const owner = await signIn(server)
    const device = await createDevice(owner)
    await send(server, device, 0, 10)
    await publishWrong(server, device)
    const stored = async (count: number) =>
      until(`${count} points`, async () => (await readHistory(owner, device.id)).length === count)
    await stored(10)
    await server.stop()
    const dump = await copyDatabase(database)

    server = await start(database)
    const again = await signIn(server)
    await send(server, device, 10, POINTS)
    await publishWrong(server, device)
    await until('all of them', async () => (await readHistory(again, device.id)).length === POINTS)
    // This device is not in the dump. A device that is created later must not get its key.
    const lost = await createDevice(again, 'Lost')
    await send(server, lost, 0, 5)
    await until('its points', async () => (await readHistory(again, lost.id)).length === 5)
    await server.stop()

    await dump.restore()
    server = await start(database)
    const restored = await signIn(server)
    const count = async () => (await readHistory(restored, device.id)).length
    await until('all that Kafka holds', async () => (await count()) === POINTS)
    await until('everything is read', () => isStored(server))
    expect(await count()).toBe(POINTS)
    const rejections = await restored.get(`/device/${device.id}/rejections`)
    expect(rejections.body.data).toHaveLength(2)
    const figures = await readFigures(server)
    expect(figures.get('fieldline_log_reread_records_total')).toBeGreaterThan(0)
    expect(figures.get('fieldline_log_missing_records_total')).toBe(0)
    await until('its log says so', () =>
      /The database has stored the log up to \d+, the writers had read up to/.test(server.output.stderr),
    )
    const next = await createDevice(restored, 'Next')
    expect(await readHistory(restored, next.id)).toEqual([])

    await send(server, device, POINTS, POINTS + 5)
    await until('what comes next', async () => (await count()) === POINTS + 5)
    await server.stop()
    await dump.remove()
    await database.remove()
  })

  it('says how much is lost if Kafka no longer has it, and continues with the rest', async () => {
    const database = await createTestDatabase('postgres')
    const prefix = { KAFKA_PREFIX: 'forgotten', KAFKA_BROKERS: kafka.brokers.join(), KAFKA_PARTITIONS: '1' }
    let server = await openServer(database, prefix)
    const device = await createDevice(await signIn(server))
    await send(server, device, 0, 1)
    await until('stored', async () => (await readHistory(await signIn(server), device.id)).length === 1)
    await server.stop()
    const dump = await copyDatabase(database)
    server = await openServer(database, prefix)
    await send(server, device, 1, 6)
    await until('stored', async () => (await readHistory(await signIn(server), device.id)).length === 6)
    await server.stop()
    await forget('forgotten.points', 4)
    await dump.restore()
    server = await openServer(database, prefix)
    const owner = await signIn(server)
    await until('the rest', async () => (await readHistory(owner, device.id)).length === 3)
    expect((await readFigures(server)).get('fieldline_log_missing_records_total')).toBe(3)
    await until('its log says so', () => /Kafka begins at 4: 3 records are lost/.test(server.output.stderr))
    await server.stop()
    await dump.remove()
    await database.remove()
  })
})

/** Copies a database that nobody has open, with pg_dump and pg_restore. */
async function copyDatabase({ url }: TestDatabase) {
  const own = new URL(url as string)
  const name = own.pathname.slice(1)
  const administer = async (...statements: string[]) => {
    const client = new pg.Client({
      connectionString: Object.assign(new URL(own), { pathname: '/postgres' }).href,
    })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  const drop = (one: string) => `DROP DATABASE ${one} WITH (FORCE)`
  await administer(`CREATE DATABASE ${name}_dump TEMPLATE ${name}`)
  return {
    restore: () => administer(drop(name), `CREATE DATABASE ${name} TEMPLATE ${name}_dump`),
    remove: () => administer(drop(`${name}_dump`)),
  }
}

/** Deletes everything before the offset from Kafka, as retention does. */
async function forget(topic: string, offset: number): Promise<void> {
  const admin = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  // Without this request kafkajs does not know the leader of the partition.
  await admin.fetchTopicOffsets(topic)
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: `${offset}` }] })
  await admin.disconnect()
}
