import { describe, expect, it } from 'vitest'
import { ROLES, toConfig } from '../src/config.ts'

const POSTGRES = {
  DATABASE_URL: 'postgres://localhost/fieldline',
  JWT_SECRET: 'a secret of thirty-two characters',
}
const CLUSTER = { ...POSTGRES, KAFKA_BROKERS: 'kafka-1:9092, kafka-2:9092' }

describe('The configuration', () => {
  it('has every role in one process unless it says otherwise', () => {
    expect(toConfig(POSTGRES)).toMatchObject({ roles: new Set(ROLES), kafka: undefined })
    expect(toConfig({ ...POSTGRES, ROLES: 'all' }).roles).toEqual(new Set(ROLES))
  })

  it('lets api and jobs stand alone without Kafka, and keeps ingest, writer and live together', () => {
    expect(toConfig({ ...POSTGRES, ROLES: 'api,jobs' }).roles).toEqual(new Set(['api', 'jobs']))
    expect(toConfig({ ...POSTGRES, ROLES: 'live, writer,ingest' }).roles).toEqual(
      new Set(['live', 'writer', 'ingest']),
    )
    for (const [roles, lacks] of [
      ['ingest', 'writer, live'],
      ['api,writer,live', 'ingest'],
    ] as const) {
      expect(() => toConfig({ ...POSTGRES, ROLES: roles })).toThrow(
        `Without KAFKA_BROKERS one process has the roles ingest, writer, live together, ROLES lacks ${lacks}`,
      )
    }
  })

  it('takes any roles with Kafka', () => {
    for (const role of ROLES) {
      expect(toConfig({ ...CLUSTER, ROLES: role }).roles).toEqual(new Set([role]))
    }
    expect(toConfig(CLUSTER).kafka).toEqual({
      brokers: ['kafka-1:9092', 'kafka-2:9092'],
      prefix: 'fieldline',
      partitions: 8,
      replication: 1,
    })
    const named = { KAFKA_PREFIX: 'eu.fleet', KAFKA_PARTITIONS: '32', KAFKA_REPLICATION: '3' }
    expect(toConfig({ ...CLUSTER, ...named }).kafka).toMatchObject({
      prefix: 'eu.fleet',
      partitions: 32,
      replication: 3,
    })
  })

  it.each([
    [{ KAFKA_BROKERS: 'localhost:9092' }, 'KAFKA_BROKERS requires DATABASE_URL'],
    [{ ...POSTGRES, KAFKA_BROKERS: 'localhost' }, 'KAFKA_BROKERS has to be a list of host:port'],
    [{ ...CLUSTER, KAFKA_PREFIX: 'a b' }, 'KAFKA_PREFIX has to be'],
    [{ ...CLUSTER, KAFKA_PARTITIONS: '0' }, 'KAFKA_PARTITIONS has to be a whole number from 1, it is "0"'],
    [{ ...CLUSTER, KAFKA_REPLICATION: 'x' }, 'KAFKA_REPLICATION has to be a whole number from 1, it is "x"'],
    [{ ...CLUSTER, ROLES: 'ingest,cook' }, 'ROLES holds "cook"'],
  ])('%o is refused', (env, message) => {
    expect(() => toConfig(env)).toThrow(message)
  })
})
