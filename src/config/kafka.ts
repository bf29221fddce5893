import { type KafkaSecurity, SASL_MECHANISMS } from '../../stream/kafka/security.ts'
import type { Reader } from './reader.ts'

export interface KafkaConfig {
  brokers: string[]
  prefix: string
  partitions: number
  replication: number
  security: KafkaSecurity
}

/** Every variable is checked, whether Kafka is used or not. */
export function readKafka(read: Reader): KafkaConfig | undefined {
  const { env, problems } = read
  const brokers = env.KAFKA_BROKERS?.split(',').map(broker => broker.trim())
  if (brokers?.some(broker => !/^(\[[\da-f:]+\]|[^\s:]+):\d+$/i.test(broker))) {
    problems.push(`KAFKA_BROKERS has to be a list of host:port, it is "${env.KAFKA_BROKERS}"`)
  }
  const prefix = read.text('KAFKA_PREFIX', 'fieldline')
  if (!/^[\w.-]{1,200}$/.test(prefix)) {
    problems.push('KAFKA_PREFIX has to be up to 200 letters, digits, dots, underscores and hyphens')
  }
  const kafka = {
    prefix,
    partitions: read.count('KAFKA_PARTITIONS', 8, 1),
    replication: read.count('KAFKA_REPLICATION', 1, 1),
    security: { tls: readTls(read), sasl: readSasl(read) },
  }
  return brokers && { brokers, ...kafka }
}

function readTls(read: Reader): KafkaSecurity['tls'] {
  const { env, problems } = read
  const certFile = read.file('KAFKA_TLS_CERT')
  const keyFile = read.file('KAFKA_TLS_KEY')
  if ((certFile === undefined) !== (keyFile === undefined))
    problems.push('KAFKA_TLS_CERT and KAFKA_TLS_KEY have to be set together')
  const given = env.KAFKA_TLS
  const isOn = given !== undefined && given !== 'false'
  if (!isOn) {
    if (certFile ?? keyFile) problems.push('KAFKA_TLS_CERT and KAFKA_TLS_KEY require KAFKA_TLS')
    return null
  }
  const caFile = given === 'true' ? undefined : read.file('KAFKA_TLS')
  return { caFile, own: certFile && keyFile ? { certFile, keyFile } : undefined }
}

function readSasl(read: Reader): KafkaSecurity['sasl'] {
  const mechanism = read.choice('KAFKA_SASL_MECHANISM', SASL_MECHANISMS)
  const username = read.env.KAFKA_USERNAME
  const password = read.secret('KAFKA_PASSWORD')
  if (mechanism && username !== undefined && password) return { mechanism, username, password }
  const absent = [
    mechanism || read.env.KAFKA_SASL_MECHANISM ? null : 'KAFKA_SASL_MECHANISM',
    username === undefined ? 'KAFKA_USERNAME' : null,
    password ? null : 'KAFKA_PASSWORD',
  ].filter(name => name !== null)
  if (absent.length > 0 && absent.length < 3)
    read.problems.push(`To sign in to Kafka, set ${absent.join(' and ')} too`)
  return null
}
