import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import { type Config, ConfigError, ROLES, readEnv, toConfig } from '../src/config.ts'

const POSTGRES = {
  DATABASE_URL: 'postgres://localhost/fieldline',
  JWT_SECRET: 'a secret of thirty-two characters',
}
const OIDC = {
  ...POSTGRES,
  PUBLIC_URL: 'https://fieldline.example/',
  OIDC_ISSUER: 'https://idp.example/realms/one',
  OIDC_CLIENT_ID: 'fieldline',
  OIDC_CLIENT_SECRET: 'hidden',
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
      security: { tls: null, sasl: null },
    })
    const named = { KAFKA_PREFIX: 'eu.fleet', KAFKA_PARTITIONS: '32', KAFKA_REPLICATION: '3' }
    expect(toConfig({ ...CLUSTER, ...named }).kafka).toMatchObject({
      prefix: 'eu.fleet',
      partitions: 32,
      replication: 3,
    })
  })

  it.each([
    [{ DATABSE_URL: 'postgres://localhost' }, 'DATABSE_URL is no variable of Fieldline, DATABASE_URL is'],
    [{ DATA_DIRS: '/data' }, 'DATA_DIRS is no variable of Fieldline, DATA_DIR is'],
    [{ ROLE: 'api' }, 'ROLE is no variable of Fieldline, ROLES is'],
    [{ KAFKA_TOPIC: 'points' }, 'KAFKA_TOPIC is no variable of Fieldline: unset it'],
    [{ DATABASE_URL_UNPOOLED: 'x' }, 'DATABASE_URL_UNPOOLED is no variable of Fieldline: unset it'],
    [{ JWT_SECRET_FIEL: 'x' }, 'JWT_SECRET_FIEL is no variable of Fieldline, JWT_SECRET_FILE is'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL has to be one of fatal, error, warn'],
    [{ RETENTION_DAYS: '0' }, 'RETENTION_DAYS has to be a whole number from 1 to 3660, it is "0"'],
    [{ ...POSTGRES, JWT_SECRETS: 'x' }, 'JWT_SECRET and JWT_SECRETS are both set'],
    [{ JWT_SECRETS: `${'x'.repeat(32)},short` }, 'JWT_SECRETS has to have secrets of at least 32 characters'],
    [{ DATABASE_URL: POSTGRES.DATABASE_URL }, 'JWT_SECRET is required with DATABASE_URL'],
    [{ ...POSTGRES, DATABASE_URL: 'mysql://localhost' }, 'DATABASE_URL has to start with postgres://'],
    [
      { ...POSTGRES, DATABASE_URL: 'postgres://u:hidden@localhost/x?sslmode=verify-full&sslrootcert=/none' },
      'DATABASE_URL names /none, which cannot be read (ENOENT)',
    ],
    [{ KAFKA_BROKERS: 'localhost:9092' }, 'KAFKA_BROKERS requires DATABASE_URL'],
    [{ ...POSTGRES, KAFKA_BROKERS: 'localhost' }, 'KAFKA_BROKERS has to be a list of host:port'],
    [{ ...CLUSTER, KAFKA_PREFIX: 'a b' }, 'KAFKA_PREFIX has to be'],
    [{ ...CLUSTER, KAFKA_PARTITIONS: '0' }, 'KAFKA_PARTITIONS has to be a whole number from 1, it is "0"'],
    [{ ...CLUSTER, KAFKA_REPLICATION: 'x' }, 'KAFKA_REPLICATION has to be a whole number from 1, it is "x"'],
    [{ ...CLUSTER, ROLES: 'ingest,cook' }, 'ROLES has "cook"'],
    [{ ...POSTGRES, CORS_ORIGINS: 'https://a.example/path' }, 'CORS_ORIGINS has to be a list of origins'],
    [{ ...OIDC, OIDC_ISSUER: 'http://idp.example' }, 'OIDC_ISSUER has to be an https URL'],
    [{ ...OIDC, OIDC_ISSUER: 'https://idp.example?x=1' }, 'OIDC_ISSUER has to be an https URL'],
    [{ ...OIDC, PUBLIC_URL: '' }, 'OIDC_ISSUER requires PUBLIC_URL'],
    [{ ...OIDC, PUBLIC_URL: 'https://a.example/path' }, 'PUBLIC_URL has to be an address without a path'],
    [{ ...OIDC, PUBLIC_URL: 'javascript:alert(1)' }, 'PUBLIC_URL has to be an address without a path'],
    [{ ...OIDC, OIDC_CLIENT_ID: '' }, 'OIDC_ISSUER requires OIDC_CLIENT_ID'],
    [{ ...OIDC, OIDC_CLIENT_SECRET: '' }, 'OIDC_ISSUER requires OIDC_CLIENT_SECRET'],
    [{ ...OIDC, OIDC_LABEL: 'x'.repeat(61) }, 'OIDC_LABEL has to have at most 60 characters'],
    [{ ...OIDC, OIDC_ISSUER: '' }, 'OIDC_CLIENT_ID requires OIDC_ISSUER'],
    [{ ...POSTGRES, OIDC_ONLY: 'true' }, 'OIDC_ONLY requires OIDC_ISSUER'],
    [{ ...OIDC, OIDC_ISUER: 'x' }, 'OIDC_ISUER is no variable of Fieldline, OIDC_ISSUER is'],
    [{ ...POSTGRES, CORS_ORIGINS: '*' }, 'CORS_ORIGINS has to be a list of origins'],
    [{ ...CLUSTER, KAFKA_TLS: '/none.pem' }, 'KAFKA_TLS names /none.pem, which cannot be read (ENOENT)'],
    [{ ...CLUSTER, KAFKA_TLS_CERT: 'README.md' }, 'KAFKA_TLS_CERT and KAFKA_TLS_KEY have to be set together'],
    [{ ...CLUSTER, KAFKA_SASL_MECHANISM: 'gssapi' }, 'KAFKA_SASL_MECHANISM has to be one of plain'],
    [
      { ...CLUSTER, KAFKA_USERNAME: 'me' },
      'To sign in to Kafka, set KAFKA_SASL_MECHANISM and KAFKA_PASSWORD too',
    ],
    [{ ...CLUSTER, KAFKA_PASSWORD_FILE: '/none' }, 'KAFKA_PASSWORD_FILE names /none, which cannot be read'],
    [
      { ...CLUSTER, KAFKA_PASSWORD: 'x', KAFKA_PASSWORD_FILE: 'README.md' },
      'KAFKA_PASSWORD and KAFKA_PASSWORD_FILE are both set',
    ],
    [{ ...POSTGRES, MQTT_PORT: 'tcp://10.0.0.1:1883' }, 'in Kubernetes set enableServiceLinks: false'],
    [{ ...POSTGRES, RATE_LIMIT_PER_MINUTE: ' ' }, 'RATE_LIMIT_PER_MINUTE has to be a whole number from 0'],
    [
      { ...POSTGRES, MQTT_CONNECTIONS_PER_SECOND: '\t' },
      'MQTT_CONNECTIONS_PER_SECOND has to be a whole number',
    ],
    [{ ...POSTGRES, PORT: ' ' }, 'PORT has to be a port from 0 to 65535, it is " "'],
    [{ DATABASE_DIRECT_URL: 'postgres://localhost/x' }, 'DATABASE_DIRECT_URL requires DATABASE_URL'],
    [{ ...POSTGRES, MQTT_TLS_CERT: 'README.md' }, 'MQTT_TLS_CERT and MQTT_TLS_KEY require MQTT_TLS_PORT'],
    [{ ...POSTGRES, FIELDLINE_PORT: '8080' }, 'FIELDLINE_PORT is no variable of Fieldline: unset it'],
    [{ ...POSTGRES, DATABASE_PORT: '5433' }, 'DATABASE_PORT is no variable of Fieldline: unset it'],
    [{ ...POSTGRES, MQTT_SSL_PORT: '8883' }, 'MQTT_SSL_PORT is no variable of Fieldline'],
    [{ ...POSTGRES, PROT: '80' }, 'PROT is no variable of Fieldline, PORT is'],
    [{ ...POSTGRES, HOSTS: 'localhost' }, 'HOSTS is no variable of Fieldline, HOST is'],
    [
      { ...POSTGRES, TRUSTED_PROXIES: '10.0.0.0/8,proxy.internal' },
      'TRUSTED_PROXIES has to be a list of addresses and networks such as 10.0.0.0/8, it has "proxy.internal"',
    ],
    [{ ...POSTGRES, MQTT_PROXY_PROTOCOL: 'true' }, 'MQTT_PROXY_PROTOCOL requires TRUSTED_PROXIES'],
    [{ ...POSTGRES, MQTT_PROXY_PROTOCOL: 'v2' }, 'MQTT_PROXY_PROTOCOL has to be true or false'],
    [
      { ...POSTGRES, METRICS_PORT: '3000' },
      'METRICS_PORT and PORT are both 3000: give each a port of its own',
    ],
    [{ ...POSTGRES, PORT: '1883' }, 'MQTT_PORT and PORT are both 1883'],
    [
      { ...POSTGRES, DATABASE_URL: 'postgres://u:p@h:abc/db' },
      'DATABASE_URL has a port that is no number up to 65535',
    ],
    [
      { ...POSTGRES, DATABASE_URL: 'postgres://u:p@[zz]/db' },
      'DATABASE_URL is no address: a special character',
    ],
    [{ ...POSTGRES, DATABASE_URL: 'postgres://h/db?sslmode=require&SSLMODE=disable' }, 'sslmode twice'],
  ])('%o is invalid', (env, message) => {
    expect(() => toConfig(readEnv(env))).toThrow(message)
  })

  it('names the provider of single sign-on, whose secret may be a file that changes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'oidc-'))
    const file = join(folder, 'secret')
    writeFileSync(file, 'from the file\n')
    const { OIDC_CLIENT_SECRET: _, ...rest } = OIDC
    const { oidc, publicUrl } = toConfig({ ...rest, OIDC_CLIENT_SECRET_FILE: file, OIDC_ONLY: 'true' })
    expect(publicUrl).toBe('https://fieldline.example')
    expect(oidc).toMatchObject({ issuer: OIDC.OIDC_ISSUER, label: 'single sign-on', only: true })
    expect(oidc?.clientSecret.current).toBe('from the file')
    rmSync(folder, { recursive: true })
    expect(toConfig({ ...OIDC, OIDC_ISSUER: 'http://127.0.0.1:8080' }).oidc?.only).toBe(false)
    expect(toConfig(POSTGRES).oidc).toBeUndefined()
  })

  it.each([
    'postgres://u:hidden@h:abc/db',
    'postgres://u:hidden@h:70000/db',
    'postgres://u:hidden@[zz]/db',
    'postgres://u:hid/den@h/db',
    'postgres://u:hidden@a:1,b:x/db',
  ])('refuses %s in one sentence without its password', url => {
    const refusal = (() => {
      try {
        return toConfig({ ...POSTGRES, DATABASE_URL: url })
      } catch (error) {
        return error
      }
    })()
    expect(refusal).toBeInstanceOf(ConfigError)
    expect((refusal as Error).message).toMatch(/^DATABASE_URL [^\n;]+$/)
    expect((refusal as Error).message).not.toMatch(/hid|den@/)
  })

  it.each([
    'postgres:///name?host=/run/postgresql',
    'postgres://u:p%40q@a:1,b:2/name',
    'postgres://[::1]:5432/name',
    'postgresql://%2Frun%2Fpostgresql/name',
  ])('takes %s', url => {
    expect(toConfig({ ...POSTGRES, DATABASE_URL: url }).databaseUrl?.current).toBe(url)
  })

  it('takes proxies as addresses, networks and the names of private ones', () => {
    const proxies = ['127.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8', 'loopback']
    expect(toConfig({ ...POSTGRES, TRUSTED_PROXIES: proxies.join(', ') }).trustedProxies).toEqual(proxies)
  })

  it('lets a process without MQTT use its port', () => {
    expect(toConfig({ ...CLUSTER, ROLES: 'api', PORT: '1883' }).port).toBe(1883)
  })
})

describe('Variables of others', () => {
  it.each([
    ['KAFKA_SERVICE_HOST', '10.0.0.1'],
    ['KAFKA_SERVICE_PORT_BROKER', '9092'],
    ['KAFKA_PORT_9092_TCP_ADDR', '10.0.0.1'],
    ['KAFKA_PORT', 'tcp://10.0.0.1:9092'],
    ['MQTT_PORT_1883_UDP', 'udp://10.0.0.1:1883'],
    ['MQTTS_PORT', 'sctp://10.0.0.1:1883'],
    ['KAFKA_HEAP_OPTS', '-Xmx1g'],
    ['FIELDLINE_API_KEY', 'x'],
    ['FIELDLINE_URL', 'http://127.0.0.1:3000'],
    ['POST', 'x'],
    ['LOST', 'x'],
    ['PORTS', '8080,8081'],
    ['PORT0', '8080'],
    ['PATH', '/bin'],
    ['HOME', '/root'],
    ['HOST_IP', '10.0.0.1'],
  ])('such as %s=%s are none of our business', (name, value) =>
    expect(() => toConfig({ ...POSTGRES, [name]: value })).not.toThrow(),
  )
})

describe('A secret in a file', () => {
  const withFile = (content: string, work: (path: string) => void) => {
    const folder = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
    writeFileSync(join(folder, 'secret'), content)
    try {
      work(join(folder, 'secret'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it('is its first line', () => {
    withFile(`${'s'.repeat(40)}\n`, path => {
      const { DATABASE_URL } = POSTGRES
      expect(toConfig({ DATABASE_URL, JWT_SECRET_FILE: path }).jwtSecret.current).toEqual(['s'.repeat(40)])
    })
  })

  it('loses the end of a line that another system wrote, and one alone', () => {
    withFile('correct horse battery\r\n', path => {
      const { owner } = toConfig({ ...POSTGRES, FIELDLINE_OWNER_PASSWORD_FILE: path })
      expect(owner.password).toBe('correct horse battery')
    })
    withFile('correct horse battery\n\r\n', path => {
      const { owner } = toConfig({ ...POSTGRES, FIELDLINE_OWNER_PASSWORD_FILE: path })
      expect(owner.password).toBe('correct horse battery\n')
    })
  })

  it('that changes to one that does not count says so once, by the names alone', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const { DATABASE_URL } = POSTGRES
    const [first, second] = ['first'.repeat(10), 'second'.repeat(10)]
    const follow = (path: string, env: Record<string, string>, current: (config: Config) => unknown) => {
      const told: string[] = []
      const config = toConfig(env, sentence => told.push(sentence))
      return (write: () => void) => {
        write()
        for (let second = 0; second < 3; second++) {
          vi.advanceTimersByTime(1_500)
          current(config)
        }
        expect(told.join()).not.toMatch(/short|first|second/)
        return [current(config), told.splice(0).map(sentence => sentence.replace(path, 'PATH'))]
      }
    }
    withFile(first, path => {
      const change = follow(path, { DATABASE_URL, JWT_SECRET_FILE: path }, one => one.jwtSecret.current[0])
      const sentence = (fault: string) => [
        `JWT_SECRET_FILE names PATH, which ${fault} now: the last value stays`,
      ]
      const short = sentence('has a secret of under 32 characters')
      expect(change(() => writeFileSync(path, 'short'))).toEqual([first, short])
      expect(change(() => writeFileSync(path, 'shorter'))).toEqual([first, short])
      expect(change(() => writeFileSync(path, ''))).toEqual([first, sentence('is empty')])
      expect(change(() => rmSync(path))).toEqual([first, sentence('cannot be read (ENOENT)')])
      expect(change(() => writeFileSync(path, second))).toEqual([second, []])
      expect(change(() => rmSync(path))).toEqual([second, sentence('cannot be read (ENOENT)')])
    })
    withFile(DATABASE_URL, path => {
      const env = { JWT_SECRET: POSTGRES.JWT_SECRET, DATABASE_URL_FILE: path }
      const change = follow(path, env, one => one.databaseUrl?.current)
      const sentence =
        'DATABASE_URL_FILE names PATH, which has to start with postgres:// or postgresql:// now: the last value stays'
      expect(change(() => writeFileSync(path, 'mysql://u:short@h'))).toEqual([DATABASE_URL, [sentence]])
      const next = 'postgres://other/fieldline'
      expect(change(() => writeFileSync(path, next))).toEqual([next, []])
    })
    vi.useRealTimers()
  })

  it('may be several, with commas or lines between', () => {
    withFile(`${'new'.repeat(20)}\n${'old'.repeat(20)}\n`, path => {
      const { DATABASE_URL } = POSTGRES
      const expected = ['new'.repeat(20), 'old'.repeat(20)]
      expect(toConfig({ DATABASE_URL, JWT_SECRETS_FILE: path }).jwtSecret.current).toEqual(expected)
      expect(toConfig({ DATABASE_URL, JWT_SECRETS: expected.join(', ') }).jwtSecret.current).toEqual(expected)
    })
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
  const secretOf = (dataDir: string) => toConfig({ DATA_DIR: dataDir }).jwtSecret.current[0] ?? ''

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
