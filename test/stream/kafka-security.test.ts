import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, describe, expect, it } from 'vitest'
import { toConfig } from '../../src/config.ts'
import { administer, createClient } from '../../stream/kafka/client.ts'
import { explainConnecting } from '../../stream/kafka/failures.ts'
import { openKafkaLog } from '../../stream/kafka/log.ts'
import { freePort } from '../services/commands.ts'
import { startKafka } from '../services/kafka.ts'
import { createAuthority, joinFiles } from '../support/authority.ts'
import { claimAlone, NOTHING_STORED } from '../support/kafka.ts'
import { until } from '../support/wait.ts'
import { createTable, point, sourceOf } from './entries.ts'

const folder = mkdtempSync(join(tmpdir(), 'kafka-security-'))
const authority = createAuthority(folder, 'authority')
const other = createAuthority(folder, 'other')
const [signIn, certificates] = [await freePort(), await freePort()]
const PASSWORD = 'a password of the broker'
const users = (name: string) => `name=${name},password="${PASSWORD}"`
const keystore = (listener: string) => ({
  [`listener.name.${listener}.ssl.keystore.type`]: 'PEM',
  [`listener.name.${listener}.ssl.keystore.location`]: joinFiles(
    authority.issue('broker', 'IP:127.0.0.1'),
    join(folder, `${listener}.pem`),
  ),
})
const modules = 'org.apache.kafka.common.security'

const kafka = await startKafka({
  own: true,
  brief: true,
  listeners: [
    { name: 'USERS', port: signIn, protocol: 'SASL_SSL' },
    { name: 'CERTIFICATES', port: certificates, protocol: 'SSL' },
  ],
  scramUsers: [
    ['SCRAM-SHA-256', users('fieldline')],
    ['SCRAM-SHA-512', users('fieldline')],
    ['SCRAM-SHA-512', users('stranger')],
  ],
  settings: {
    ...keystore('users'),
    ...keystore('certificates'),
    'listener.name.certificates.ssl.client.auth': 'required',
    'listener.name.certificates.ssl.truststore.type': 'PEM',
    'listener.name.certificates.ssl.truststore.location': authority.file,
    'listener.name.users.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.users.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required user_fieldline="${PASSWORD}";`,
    'listener.name.users.scram-sha-256.sasl.jaas.config': `${modules}.scram.ScramLoginModule required;`,
    'listener.name.users.scram-sha-512.sasl.jaas.config': `${modules}.scram.ScramLoginModule required;`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // The unencrypted listener is for the broker itself, and for the administrator of this test.
    'super.users': 'User:ANONYMOUS;User:CN=program',
  },
})
const missing = kafka.available ? undefined : kafka.reason
if (missing && process.env.REQUIRE_SERVICES === '1') throw new Error(missing)
afterAll(async () => {
  if (kafka.available) await kafka.stop()
  rmSync(folder, { recursive: true })
})

const POSTGRES = {
  DATABASE_URL: 'postgres://localhost/fieldline',
  JWT_SECRET: 'a secret of thirty-two characters',
}
const USER = { KAFKA_USERNAME: 'fieldline', KAFKA_PASSWORD: PASSWORD, KAFKA_SASL_MECHANISM: 'scram-sha-512' }
const errors: string[] = []

function read(env: Record<string, string>, brokers = `127.0.0.1:${signIn}`) {
  const { kafka } = toConfig({ ...POSTGRES, KAFKA_BROKERS: brokers, KAFKA_TLS: authority.file, ...env })
  if (!kafka) throw new Error('No Kafka')
  return kafka
}
function open(env: Record<string, string>, brokers?: string) {
  return openKafkaLog({
    ...read(env, brokers),
    claimLog: claimAlone,
    stored: NOTHING_STORED,
    onError: error => void errors.push(String(error)),
  })
}
const refusal = (env: Record<string, string>, brokers?: string) =>
  open(env, brokers).then(
    async log => {
      await log.close()
      return 'It was opened'
    },
    error => String(error.message),
  )

/** The administrator: creates the topics as docs/kafka.md says, with the rights of a user, and no other ones. */
async function prepare(prefix: string, user: string): Promise<void> {
  const brokers = kafka.available ? [kafka.brokers] : []
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  const topics = [`${prefix}.points`, `${prefix}.points.dead`]
  await admin.createTopics({
    topics: topics.map(topic => ({ topic, numPartitions: 1 })),
    waitForLeaders: true,
  })
  const right = (resourceType: number, resourceName: string, operation: number) => ({
    ...{ resourceType, resourceName, operation },
    // A prefix, for this user, from everywhere, allowed.
    ...{ resourcePatternType: 4, principal: `User:${user}`, host: '*', permissionType: 3 },
  })
  const [TOPIC, GROUP] = [2, 3]
  const [READ, WRITE, DELETE] = [3, 4, 6]
  await admin.createAcls({
    acl: [
      right(TOPIC, `${prefix}.points`, READ),
      right(TOPIC, `${prefix}.points`, WRITE),
      right(GROUP, `${prefix}.`, READ),
      right(GROUP, `${prefix}.live.`, DELETE),
    ],
  })
  const ANY = 1
  // The controller has them first; the broker answers from those that it goes by.
  await until('the broker knows the rights', async () => {
    const { resources } = await admin.describeAcls({
      ...{ resourceType: ANY, resourcePatternType: ANY, operation: ANY, permissionType: ANY },
      principal: `User:${user}`,
    })
    const own = resources.filter(({ resourceName }) => resourceName.startsWith(`${prefix}.`))
    return own.flatMap(({ acls }) => acls).length === 4
  })
  await admin.disconnect()
}

describe.skipIf(missing)('Kafka with TLS', () => {
  it.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
    'signs in by %s, with the rights to its topics alone',
    async mechanism => {
      const prefix = `by-${mechanism}`
      await prepare(prefix, 'fieldline')
      const file = join(folder, 'password')
      writeFileSync(file, `${PASSWORD}\n`)
      const { KAFKA_USERNAME } = USER
      const log = await open({
        ...{ KAFKA_USERNAME, KAFKA_SASL_MECHANISM: mechanism, KAFKA_PASSWORD_FILE: file },
        ...{ KAFKA_PREFIX: prefix, KAFKA_PARTITIONS: '1' },
      })
      const table = createTable()
      const storing = await log.store(table.store)
      await log.append([point(1, 1)], sourceOf(1))
      await until('the point is stored', () => table.entries().length === 1)
      const followed: unknown[] = []
      const following = await log.follow(
        async () => new Map(),
        batch => void followed.push(batch),
      )
      await until('a screen has the point', () => followed.length > 0)
      await following.close()
      await storing.close()
      await log.close()
    },
  )

  it('shows the certificate of the client', async () => {
    const { cert, key } = authority.issue('program')
    const own = { KAFKA_TLS_CERT: cert, KAFKA_TLS_KEY: key, KAFKA_PREFIX: 'certificate' }
    const log = await open(own, `127.0.0.1:${certificates}`)
    expect(await log.answers()).toBe(true)
    await log.close()
  })
})

describe.skipIf(missing)('A start that cannot succeed with Kafka ends, and names the cause', () => {
  it.each([
    [
      'a wrong password',
      { ...USER, KAFKA_PASSWORD: 'wrong' },
      /rejects the user "fieldline".*KAFKA_PASSWORD/,
    ],
    [
      'a mechanism that the broker does not offer',
      { ...USER, KAFKA_PASSWORD: 'wrong', KAFKA_SASL_MECHANISM: 'plain' },
      /rejects the user "fieldline".*KAFKA_PASSWORD/,
    ],
    ['an unknown authority', { ...USER, KAFKA_TLS: other.file }, /KAFKA_TLS to a file with the certificate/],
    ['no authority at all', { ...USER, KAFKA_TLS: 'true' }, /KAFKA_TLS to a file with the certificate/],
    [
      'topics that the user may not create',
      { ...USER, KAFKA_USERNAME: 'stranger', KAFKA_PREFIX: 'forbidden' },
      /forbidden\.points \(partitions: 8\) and forbidden\.points\.dead \(partitions: 1\) to the user "stranger"/,
    ],
  ])('%s', async (_what, env, message) => {
    expect(await refusal(env)).toMatch(message)
  })

  it('another name than the one in the certificate', async () => {
    expect(await refusal(USER, `localhost:${signIn}`)).toMatch(
      /localhost:\d+\): .*altnames.* KAFKA_BROKERS, and what the brokers advertise, has to be a name in their certificate/,
    )
  })

  it('a missing certificate of the client', async () => {
    expect(await refusal({}, `127.0.0.1:${certificates}`)).toMatch(/KAFKA_TLS_CERT/)
  })
})

describe.skipIf(missing)('A start that waits for Kafka says what may be wrong', () => {
  /** One attempt; the start repeats it, since a broker that is starting looks the same. */
  async function attempt(env: Record<string, string>, broker: string): Promise<string> {
    const { security } = read(env, broker)
    const target = { brokers: [broker], security }
    const newClient = (retries: number) =>
      createClient({ ...target, clientId: 'attempt', retries, onError: () => {} })
    const failed = await administer(newClient, 60_000, admin => admin.describeCluster()).catch(error => error)
    return String(explainConnecting(failed, target)?.message)
  }

  it('where the port does not speak TLS', async () => {
    expect(await attempt(USER, kafka.available ? kafka.brokers : '')).toMatch(/does not speak TLS/)
  })

  it('where the port demands TLS', async () => {
    expect(await attempt({ KAFKA_TLS: 'false' }, `127.0.0.1:${signIn}`)).toMatch(/KAFKA_TLS/)
  })

  it('where the port demands a user', async () => {
    expect(await attempt({}, `127.0.0.1:${signIn}`)).toMatch(/KAFKA_SASL_MECHANISM/)
  })
})
