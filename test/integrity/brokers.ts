import { Kafka, logLevel } from 'kafkajs'
import { type KafkaCluster, startKafkaCluster } from '../services/kafka.ts'
import { pause, until } from '../support/wait.ts'
import type { Victim } from './rounds.ts'

/** Nothing can be acknowledged for so long, and then has to go on by itself. */
const TWO_AWAY_MS = 3_000

/**
 * Three brokers, of which any one may be lost with its disk: leaders of partitions and the controller among them. The next
 * is lost when the one before it has everything again: two of three with an empty disk are more than anybody promises.
 */
export async function startBrokers(): Promise<{
  brokers: string[]
  victims: Victim[]
  stop(): Promise<void>
}> {
  const kafka = await startKafkaCluster({ brief: true })
  if (!kafka.available) throw new Error(kafka.reason)
  const { brokers, controls } = kafka
  let turn = 0
  const next = () => turn++ % brokers.length
  return {
    brokers,
    victims: [
      {
        name: 'a broker with its disk',
        async killAndRestart() {
          await kafka.replace(next())
          await untilComplete(kafka)
        },
      },
      {
        name: 'two brokers',
        async killAndRestart() {
          const two = [controls[next()], controls[next()]]
          await Promise.all(two.map(control => control?.kill9()))
          await pause(TWO_AWAY_MS)
          await Promise.all(two.map(control => control?.start()))
          await untilComplete(kafka)
        },
      },
    ],
    stop: kafka.stop,
  }
}

/** Until every broker has all of every partition. */
async function untilComplete({ brokers }: KafkaCluster): Promise<void> {
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    await until(
      'every broker has everything again',
      async () => {
        const { topics } = await admin.fetchTopicMetadata()
        return topics.every(({ partitions }) =>
          partitions.every(({ isr, replicas }) => isr.length === replicas.length),
        )
      },
      120_000,
    )
  } finally {
    await admin.disconnect()
  }
}
