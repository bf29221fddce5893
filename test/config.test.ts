import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
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

  it('allows any roles with Kafka', () => {
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
    [{ ...CLUSTER, ROLES: 'ingest,cook' }, 'ROLES has "cook"'],
    [{ ...POSTGRES, CORS_ORIGINS: 'https://a.example/path' }, 'CORS_ORIGINS has to be a list of origins'],
    [{ ...POSTGRES, CORS_ORIGINS: '*' }, 'CORS_ORIGINS has to be a list of origins'],
  ])('%o is invalid', (env, message) => {
    expect(() => toConfig(env)).toThrow(message)
  })
})

describe('The documentation of the configuration', () => {
  const read = (name: string) => readFileSync(resolve(import.meta.dirname, '..', name), 'utf8')
  const example = read('.env.example')
  /** The names of the variables that `toConfig` reads. */
  const names = () => {
    const asked = new Set<string>()
    const env: Record<string, string> = POSTGRES
    toConfig(new Proxy(env, { get: (target, name: string) => asked.add(name) && target[name] }))
    return [...asked].sort()
  }

  it('names in .env.example every variable and no other', () => {
    const named = Object.keys(parseEnv(example.replaceAll(/^#(?=[A-Z_]+=)/gm, '')))
    expect(named.sort()).toEqual(names())
  })

  it('says in .env.example what is so anyway', () => {
    const data = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
    const given = { ...parseEnv(example), DATA_DIR: data }
    expect(parseEnv(example).DATA_DIR).toBe('./data')
    expect(toConfig(given)).toEqual(toConfig({ DATA_DIR: data }))
    rmSync(data, { recursive: true })
  })

  it('has in the README a row that names every variable, and no other', () => {
    const table = read('README.md').split('## Configuration')[1] ?? ''
    const firsts = [...table.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell]) => cell ?? '')
    const named = firsts.flatMap(cell => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name))
    expect(named.sort()).toEqual(names())
  })
})

describe('The secret of the embedded tier', () => {
  const withFolder = (work: (dataDir: string, file: string) => void) => () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
    try {
      work(dataDir, join(dataDir, 'jwt-secret'))
    } finally {
      rmSync(dataDir, { recursive: true })
    }
  }
  const secretOf = (dataDir: string) => toConfig({ DATA_DIR: dataDir }).jwtSecret

  it(
    'is generated once, for its owner alone, and leaves no draft behind',
    withFolder((dataDir, file) => {
      const secret = secretOf(dataDir)
      expect(secret.length).toBeGreaterThanOrEqual(32)
      expect(secretOf(dataDir)).toBe(secret)
      expect(statSync(file).mode & 0o077).toBe(0)
      expect(readdirSync(dataDir)).toEqual(['jwt-secret'])
    }),
  )

  it(
    'is generated again where a crash has left an empty file',
    withFolder((dataDir, file) => {
      writeFileSync(file, '')
      const secret = secretOf(dataDir)
      expect(secret.length).toBeGreaterThanOrEqual(32)
      expect(secretOf(dataDir)).toBe(secret)
    }),
  )

  it(
    'is invalid where it is too short to protect anything',
    withFolder((dataDir, file) => {
      writeFileSync(file, 'short')
      expect(() => secretOf(dataDir)).toThrow(/jwt-secret has to have at least 32 characters, it has 5/)
    }),
  )
})
