import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { openPglite } from '../../db/drivers/pglite.ts'
import { startPostgres } from '../services/postgres.ts'
import { type Client, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { isStored, readFigures } from '../support/figures.ts'
import { upload } from '../support/imports.ts'
import { startTestKafka } from '../support/kafka.ts'
import { openServer, type Server, startServer } from '../support/server.ts'
import { mountingMissing, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { createOwnPostgres } from './own-postgres.ts'
import { openImage } from './power/open-image.ts'
import { countAcknowledged, type Publisher, startPublishers } from './publisher.ts'

const missing = mountingMissing()
const kept = { lost: 0, doubled: 0, altered: 0, invented: 0 }
const QUIET_MS = 1_500

describe.skipIf(missing)(`A disk that is full${missing ? ` (${missing})` : ''}`, () => {
  const undo: (() => unknown)[] = []
  afterEach(async () => {
    for (const one of undo.splice(0).reverse()) await one()
  })

  /** Waits until points of every device are acknowledged. */
  const untilUnderLoad = (publishers: Publisher[]) =>
    until('under load', () => publishers.every(({ sent, waiting }) => sent - waiting.size > 20))

  /** Waits until nothing is acknowledged for a while. */
  async function untilNothingIs(publishers: Publisher[]): Promise<void> {
    await until('nothing is acknowledged', async () => {
      const before = countAcknowledged(publishers)
      await pause(QUIET_MS)
      return countAcknowledged(publishers) === before
    })
  }

  async function readiness({ url }: Server) {
    const answer = await fetch(`${url}/ready`)
    return { status: answer.status, data: ((await answer.json()) as { data: Record<string, boolean> }).data }
  }

  async function endInPeace(
    server: Server,
    owner: Client,
    publishers: Publisher[],
    settle = async () => {},
  ): Promise<void> {
    const before = countAcknowledged(publishers)
    await until('it goes on by itself', () => countAcknowledged(publishers) > before + 200)
    await Promise.all(publishers.map(publisher => publisher.finish()))
    await settle()
    const report = await checkHistories(owner, publishers)
    expect(report).toMatchObject(kept)
    expect(report.stored).toBe(report.acknowledged)
    expect(publishers.map(({ connections }) => connections)).toEqual(publishers.map(() => 1))
    expect(await server.stop()).toBe(0)
  }

  function createEmbedded(mib: number): { database: TestDatabase; disk: SmallDisk } {
    const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
    undo.push(() => rmSync(dataDir, { recursive: true, force: true }))
    const disk = mountSmallDisk(dataDir, mib)
    undo.push(disk.unmount)
    cpSync(inject('pgliteTemplate'), join(dataDir, 'postgres'), { recursive: true })
    return { database: { kind: 'pglite', url: undefined, dataDir, remove: async () => {} }, disk }
  }

  it('of the embedded database: nothing is acknowledged, stored data can be read, and it continues when there is room', async () => {
    const { database, disk } = createEmbedded(320)
    const server = await startServer(database)
    undo.push(server.stop)
    const owner = await signIn(server)
    const publishers = await startPublishers(owner, () => server.mqttPort, 4, { rate: 400 })
    await untilUnderLoad(publishers)
    disk.fill(20)
    // Without that a pause of the machine would look as if nothing were acknowledged.
    await until('its log says so', () =>
      /The disk of the embedded database is full: \d+ MiB are free/.test(server.output.stderr),
    )
    await untilNothingIs(publishers)

    expect((await owner.get('/location-histories')).body.data).toHaveLength(4)
    const refused = await owner.post('/vehicle', { name: 'Van' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    const figures = await readFigures(server)
    expect(figures.get('fieldline_store_failed_total')).toBeGreaterThan(0)
    expect(figures.get('fieldline_data_dir_free_bytes')).toBeLessThan(64 * 1024 * 1024)
    expect(await readiness(server)).toMatchObject({ status: 503, data: { database: true, disk: false } })

    disk.empty()
    await until('it is ready again', async () => (await readiness(server)).status === 200)
    await endInPeace(server, owner, publishers)
    const found = await openImage(database.dataDir, 0)
    for (const { device, sent } of publishers) expect(found?.points.get(device.id)?.size).toBe(sent)
  })

  it('so suddenly that its log cannot grow: the database is lost at once rather than silent, and whole when it is opened again', async () => {
    const { database, disk } = createEmbedded(320)
    const directory = join(database.dataDir, 'postgres')
    const lost: Error[] = []
    const open = () => openPglite({ directory, onError: () => {}, onLost: error => void lost.push(error) })
    const driver = await open()
    const write = (name: string) =>
      driver.transaction('background', '', async run => {
        await run({ text: `CREATE TABLE ${name} AS SELECT generate_series(1, 1000) n`, values: [] })
        if (name === 'kept') return
        disk.fill(1)
        for (;;)
          await run({ text: `SELECT pg_logical_emit_message(true, 'x', repeat('x', 1000000))`, values: [] })
      })
    await write('kept')
    await expect(write('gone')).rejects.toThrow('The embedded database has failed')
    expect(String(lost[0]?.cause)).toContain('No space left on device')
    await expect(driver.runWriting({ text: 'SELECT 1', values: [] })).rejects.toThrow()
    await driver.close()

    disk.empty()
    const again = await open()
    const count = `SELECT count(*)::int4 AS n, to_regclass('gone') AS gone FROM kept`
    expect(await again.run('requests', { text: count, values: [] })).toEqual([{ n: 1000, gone: null }])
    await again.close()
    await openImage(database.dataDir, 0)
  })

  it('of DATA_DIR alone: a file is 503 and leaves nothing behind, and is taken when there is room', async context => {
    const absent = postgresMissing()
    if (absent) return context.skip(absent)
    const database = await createTestDatabase('postgres')
    undo.push(database.remove)
    const disk = mountSmallDisk(database.dataDir, 16)
    undo.push(disk.unmount)
    const server = await openServer(database)
    undo.push(server.stop)
    const owner = await signIn(server)
    const fields = [{ key: 'n', label: 'N', type: 'number' }]
    const dataTypeId = (await owner.post('/data-type', { name: 'Many', fields })).body.data._id
    const send = () => upload(server, owner, `N\n${'1\n'.repeat(1_000_000)}`, { dataTypeId, dryRun: 'true' })
    const files = () => readdirSync(join(database.dataDir, 'imports'))
    disk.fill(1)
    const refused = await send()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(refused.body.message).toMatch(/no room/)
    expect(files()).toEqual([])
    // Points go to PostgreSQL.
    expect(await readiness(server)).toMatchObject({ status: 200, data: { disk: true } })
    disk.empty()
    expect((await send()).status).toBe(202)
  })

  it('of PostgreSQL: nothing is acknowledged, and it continues when there is room', async context => {
    const absent = postgresMissing()
    if (absent) return context.skip(absent)
    let disk: SmallDisk | undefined
    const service = await startPostgres({
      own: true,
      onFolder: folder => {
        disk = mountSmallDisk(folder, 400)
      },
    })
    if (!service.available) throw new Error(service.reason)
    undo.push(() => disk?.unmount(), service.stop)
    const { control } = service
    if (!control) return context.skip('The server is not ours to fill')
    const own = await createOwnPostgres(service.url, control)
    undo.push(own.database.remove)
    const server = await openServer(own.database)
    undo.push(server.stop)
    const owner = await signIn(server)
    const publishers = await startPublishers(owner, () => server.mqttPort, 8)
    await untilUnderLoad(publishers)
    disk?.fill(0.2)
    await untilNothingIs(publishers)
    await until('its log says so', () =>
      /No space left on device|not accepting|terminat|ECONNREFUSED/.test(server.output.stderr),
    )
    expect((await readFigures(server)).get('fieldline_store_failed_total')).toBeGreaterThan(0)
    const { status, data } = await readiness(server)
    expect([status, data.database && data.disk]).toEqual([503, false])

    disk?.empty()
    // The server exits when its log cannot grow, perhaps only now. Its supervisor restarts it.
    await until('it is ready again', async () => {
      if (control.processes().length === 0) await control.start()
      return (await readiness(server)).status === 200
    })
    await endInPeace(server, owner, publishers)
  })

  it('of Kafka: nothing is acknowledged, and it continues when there is room and the broker was restarted', async context => {
    const absent = postgresMissing()
    if (absent) return context.skip(absent)
    const folder = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
    undo.push(() => rmSync(folder, { recursive: true, force: true }))
    const disk = mountSmallDisk(folder, 128)
    undo.push(disk.unmount)
    const kafka = await startTestKafka({ folder: join(folder, 'data') })
    undo.push(kafka.stop)
    if (kafka.missing) return context.skip(kafka.missing)
    const database = await createTestDatabase('postgres')
    undo.push(database.remove)
    const server = await openServer(database, {
      KAFKA_BROKERS: kafka.brokers.join(),
      KAFKA_PARTITIONS: '4',
      KAFKA_REPLICATION: '1',
    })
    undo.push(server.stop)
    const owner = await signIn(server)
    const publishers = await startPublishers(owner, () => server.mqttPort, 8)
    await untilUnderLoad(publishers)
    disk.fill(0.2)
    await untilNothingIs(publishers)
    // The broker exits when its log cannot grow. Its supervisor restarts it.
    await until('the broker has ended', () => kafka.control.processes().length === 0)
    await until(
      'the log is said to be away',
      async () => (await readFigures(server)).get('fieldline_log_up') === 0,
    )
    await until('its log says so', () =>
      /Disk error when trying to access log file|ECONNREFUSED/.test(server.output.stderr),
    )
    expect((await fetch(`${server.url}/health`)).status).toBe(200)

    disk.empty()
    await kafka.control.start()
    await endInPeace(server, owner, publishers, () => until('stored', () => isStored(server)))
  })
})
