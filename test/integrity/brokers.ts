import { Kafka, logLevel } from 'kafkajs'
import { type KafkaCluster, startKafkaCluster } from '../services/kafka.ts'
import { pause, until } from '../support/wait.ts'
import type { Victim } from './rounds.ts'

/** For this long nothing can be acknowledged. Afterwards everything has to continue without help. */
const TWO_AWAY_MS = 3_000

/**
 * Three brokers. Any one may be lost with its disk, also one that leads partitions or is the controller. The next
 * broker is lost only after the previous one has all its data again: nobody promises to survive two empty disks among
 * three.
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

/** Waits until every broker has all data of every partition. */
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
