import { connect, createServer, type Server } from 'node:net'
import { Kafka, logLevel } from 'kafkajs'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, it } from 'vitest'
import { type KafkaLog, openKafkaLog } from '../../stream/kafka/log.ts'
import { observeKafka } from '../../stream/kafka/metrics.ts'
import { claimAlone, NOTHING_STORED, startTestKafka } from '../support/kafka.ts'
import { until } from '../support/wait.ts'

const kafka = await startTestKafka()
afterAll(() => kafka.stop())

/**
 * Counts the clients. Each one finds the brokers through the given address, and continues with the brokers' own
 * addresses.
 */
async function countClients(
  broker: string,
): Promise<{ address: string; count: () => number; server: Server }> {
  const [host = '', port] = broker.split(':')
  let count = 0
  const server = createServer(socket => {
    count++
    const on = connect({ host, port: Number(port) })
    socket.pipe(on).pipe(socket)
    for (const side of [socket, on]) side.on('error', () => socket.destroy())
    socket.on('close', () => on.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as { port: number }
  return { address: `127.0.0.1:${own}`, count: () => count, server }
}

describe.skipIf(kafka.missing)('Asking whether Kafka answers', () => {
  it('takes one client for all questions, and another one after it was away', async () => {
    const { address, count, server } = await countClients(kafka.brokers[0] as string)
    const log: KafkaLog = await openKafkaLog({
      ...{ brokers: [address], prefix: 'admin', partitions: 1, replication: 1 },
      claimLog: claimAlone,
      stored: NOTHING_STORED,
      onError: kafka.onError,
    })
    // A new group has no coordinator for a moment.
    const readable = () =>
      log.readLag().then(
        () => true,
        () => false,
      )
    await until('the lag can be read', readable)
    expect(await log.answers()).toBe(true)
    const before = count()
    for (let n = 0; n < 10; n++) {
      expect(await Promise.all([log.answers(), log.answers(), readable()])).toEqual([true, true, true])
    }
    expect(count()).toBe(before)

    await kafka.control.kill9()
    expect(await log.answers()).toBe(false)
    await kafka.control.start()
    // The first answers of a broker take seconds on a slow machine.
    await until('it answers again', () => log.answers())
    await log.close()
    server.close()
  })
})

const HOUR_MS = 3_600_000

describe.skipIf(kafka.missing)('The topic of points', () => {
  const open = async (prefix: string, replication = 1) => {
    const said: string[] = []
    const log = await openKafkaLog({
      ...{ brokers: kafka.brokers, prefix, partitions: 1, replication },
      claimLog: claimAlone,
      stored: NOTHING_STORED,
      onError: error => said.push((error as Error).message),
    })
    const registry = new Registry()
    observeKafka(registry, log, { storing: false })
    const seconds = async () => {
      const text = await registry.getSingleMetricAsString('fieldline_log_retention_seconds')
      return /^fieldline_log_retention_seconds (\S+)$/m.exec(text)?.[1]
    }
    return { log, said, seconds }
  }
  const create = async (prefix: string, settings: { [name: string]: string }) => {
    const admin = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
    const topics = [`${prefix}.points`, `${prefix}.points.dead`]
    await admin.createTopics({ topics: topics.map(topic => ({ topic, numPartitions: 1, configEntries })) })
    await admin.disconnect()
  }

  it('keeps records for 30 days where Fieldline creates it, and fits', async () => {
    const { log, said, seconds } = await open('own')
    expect([await seconds(), said]).toEqual([`${30 * 24 * 3_600}`, []])
    await log.close()
  })

  it('of an administrator is measured by its own retention, and settings that lose points are said', async () => {
    await create('theirs', { 'retention.ms': `${HOUR_MS}`, 'unclean.leader.election.enable': 'true' })
    const { log, said, seconds } = await open('theirs')
    // Before Kafka has answered, which the metrics do not await for long, it is that of a topic of ours.
    await until('its own retention is shown', async () => (await seconds()) === '3600')
    expect(said).toEqual([
      expect.stringMatching(
        /^The topic theirs\.points has retention\.ms 3600000 instead of 2592000000, unclean\.leader\.election\.enable true instead of false, message\.timestamp\.type CreateTime instead of LogAppendTime: /,
      ),
    ])
    await log.close()
  })

  it('may keep records for ever', async () => {
    const forever = { 'retention.ms': '-1', 'message.timestamp.type': 'LogAppendTime' }
    await create('forever', forever)
    const { log, said, seconds } = await open('forever')
    await until('its own retention is shown', async () => (await seconds()) === '+Inf')
    expect(said).toEqual([])
    await log.close()
  })
})
