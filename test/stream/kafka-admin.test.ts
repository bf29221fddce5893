import { connect, createServer, type Server } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { type KafkaLog, openKafkaLog } from '../../stream/kafka/log.ts'
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
    expect(await log.answers()).toBe(true)
    await log.close()
    server.close()
  })
})
