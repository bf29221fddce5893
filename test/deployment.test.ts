import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { splitUrl } from '../db/drivers/postgres-hosts.ts'
import { ROLES, readEnv, toConfig } from '../src/config.ts'
import { replicated } from './services/kafka.ts'

const read = (name: string) => readFileSync(resolve(import.meta.dirname, '..', name), 'utf8')

interface Compose {
  services: Record<
    string,
    {
      image?: string
      build?: string
      environment?: Record<string, string>
      command?: string[]
      ports?: string[]
      volumes?: string[]
      depends_on?: Record<string, { condition: string }>
      logging?: { options?: Record<string, string> }
      read_only?: boolean
      tmpfs?: string[]
      cap_drop?: string[]
      security_opt?: string[]
      mem_limit?: string
      pids_limit?: number
      ulimits?: { nofile: number }
      healthcheck?: { test: string[] }
      profiles?: string[]
      deploy?: { replicas: number }
    }
  >
  configs: Record<string, { content: string }>
  volumes: Record<string, unknown>
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose
const dockerfile = read('Dockerfile')

describe('The Dockerfile', () => {
  it('has nothing that a linter objects to', () => {
    expect(validate(dockerfile)).toEqual([])
  })

  it('copies only what is there, runs what the build compiles, and not as root', () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, paths]) => paths?.split(' ') ?? [],
    )
    for (const path of sources) expect(existsSync(resolve(import.meta.dirname, '..', path)), path).toBe(true)
    expect(dockerfile).toContain('CMD ["node", "dist/server/src/main.js"]')
    expect(dockerfile).toMatch(/^USER node$/m)
  })

  it('brings every file that the program reads from the project at run time', () => {
    const image = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
    const sources = ['src', 'ingest', 'stream', 'db'].flatMap(floor =>
      readdirSync(resolve(import.meta.dirname, '..', floor), { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('.ts'))
        .map(name => read(`${floor}/${name}`)),
    )
    const paths = sources.flatMap(text =>
      [...text.matchAll(/join\(PROJECT, '([^']+)'/g)].map(([, path]) => path as string),
    )
    expect(paths).toContain('basemap/sanfrancisco-routes.ndjson.gz')
    const copied = [...image.matchAll(/^COPY --from=build \S+ \.\/(\S*)$/gm)].map(
      ([, path]) => path as string,
    )
    const missing = paths.filter(path => !copied.some(one => path === one || path.startsWith(`${one}/`)))
    expect(missing.filter(path => path !== 'package.json')).toEqual([])
  })

  it('is healthy while its process lives, also while it waits for a database', () => {
    expect(dockerfile).toMatch(/HEALTHCHECK [^\n]*\\\n[^\n]*\/health'/)
    expect(dockerfile).not.toContain('/ready')
  })

  it('has a Node that the package supports', () => {
    const major = Number(/^FROM node:(\d+)/m.exec(dockerfile)?.[1])
    const floor = Number(/(\d+)/.exec(JSON.parse(read('package.json')).engines.node)?.[1])
    expect(major).toBeGreaterThanOrEqual(floor)
  })
})

describe('The compose file', () => {
  it('sets only variables that the configuration reads, and values that it accepts', () => {
    const files = ['config.ts', ...readdirSync(resolve(import.meta.dirname, '../src/config'))]
    const texts = files.map(name => read(name === 'config.ts' ? 'src/config.ts' : `src/config/${name}`))
    const names = [...texts.join('\n').matchAll(/'([A-Z][A-Z_]+)'|env\.([A-Z][A-Z_]+)/g)].map(
      match => match[1] ?? match[2],
    )
    for (const { build, environment = {} } of Object.values(compose.services)) {
      if (!build) continue
      for (const name of Object.keys(environment)) expect(names).toContain(name)
      const secrets = { JWT_SECRET: 'x'.repeat(40), FIELDLINE_OWNER_PASSWORD: 'x'.repeat(40) }
      const given = Object.entries({ ...environment, ...secrets }).map(([name, value]) => [name, fill(value)])
      expect(() => toConfig(readEnv(Object.fromEntries(given)))).not.toThrow()
    }
  })

  it('opens the ports that the image listens on, and the database to this machine alone', () => {
    expect(dockerfile).toMatch(/PORT=3000 MQTT_PORT=1883/)
    expect(compose.services.fieldline?.ports).toEqual(['127.0.0.1:3000:3000', '1883:1883'])
    expect(compose.services.postgres?.ports).toEqual(['127.0.0.1:5432:5432'])
    expect(compose.services.kafka?.ports).toEqual(['127.0.0.1:9092:9092'])
    expect(compose.services.nginx?.ports).toEqual(compose.services.fieldline?.ports)
  })

  it('runs two of each role in the cluster, all on one Kafka, and nobody else', () => {
    const roles = Object.values(compose.services).filter(({ environment }) => environment?.ROLES)
    expect(roles.map(({ environment }) => environment?.ROLES).sort()).toEqual([...ROLES].sort())
    for (const { deploy, environment, profiles } of roles) {
      expect([deploy?.replicas, environment?.KAFKA_BROKERS, profiles]).toEqual([
        2,
        'kafka:19092',
        ['cluster'],
      ])
    }
    expect(compose.services.kafka?.environment?.KAFKA_ADVERTISED_LISTENERS).toContain(
      'INTERNAL://kafka:19092',
    )
    expect(compose.services.fieldline?.profiles).toEqual(['one-machine'])
    expect(compose.services.embedded?.profiles).toEqual(['embedded'])
    expect(Object.keys(compose.services.embedded?.environment ?? {})).not.toContain('DATABASE_URL')
  })

  it('sends every route of the ingest and live roles through nginx to them', () => {
    const config = compose.configs.nginx?.content as string
    for (const path of ['/api/v3/live', '/api/v3/ingest/', '/api/v3/location-history/bulk', '/mqtt']) {
      expect(config).toMatch(new RegExp(`location ${path} \\{ proxy_pass http://(live|ingest); \\}`))
    }
    expect(config).toContain('server ingest:1883;')
    expect(config).toMatch(/proxy_pass mqtt;[^}]* proxy_protocol on;/)
    expect(compose.services.ingest?.environment).toMatchObject({
      MQTT_PROXY_PROTOCOL: 'true',
      TRUSTED_PROXIES: expect.any(String),
    })
  })

  it.each(['docker-compose.yml', ...['first', 'second', 'third'].map(name => `docs/deploy/${name}.yml`)])(
    '%s runs Fieldline with nothing that it does not need, and bounds every log',
    name => {
      const { services } = parse(read(name), { merge: true }) as Compose
      const own = Object.values(services).filter(({ build }) => build)
      expect(own.length).toBeGreaterThan(0)
      for (const service of own) {
        expect(service).toMatchObject({
          read_only: true,
          tmpfs: ['/tmp'],
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
          mem_limit: expect.stringMatching(/^\d+g$/),
          pids_limit: expect.any(Number),
          ulimits: { nofile: expect.any(Number) },
        })
        // Whatever it writes is below DATA_DIR.
        expect(service.volumes?.map(volume => volume.split(':')[1])).toEqual(['/data'])
      }
      for (const [service, { logging }] of Object.entries(services))
        expect(logging?.options, service).toEqual({ 'max-size': '20m', 'max-file': '5' })
    },
  )

  it('has a volume for each that is named, and waits for services that say when they are healthy', () => {
    for (const service of Object.values(compose.services)) {
      for (const volume of service.volumes ?? []) {
        const [name] = volume.split(':') as [string]
        if (!name.startsWith('.')) expect(compose.volumes).toHaveProperty(name)
      }
      for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(condition).toBe('service_healthy')
        expect(compose.services[name]?.healthcheck ?? compose.services[name]?.build).toBeDefined()
      }
    }
  })

  it('has the PostgreSQL and the Kafka that the tests run on', () => {
    expect(read('test/services/kafka/pom.xml')).toContain(
      `<version>${compose.services.kafka?.image?.split(':')[1]}<`,
    )
    expect(compose.services.postgres?.image).toContain('pg17')
    expect(read('test/services/postgres-root.ts')).toContain('postgresql-17')
  })
})

describe('The files of three machines', () => {
  const MACHINES = ['first', 'second', 'third'] as const
  const files = MACHINES.map(name => parse(read(`docs/deploy/${name}.yml`)) as Compose)
  const environmentsOf = (service: string) => files.map(({ services }) => services[service]?.environment)

  it('have one Fieldline each, the same on all, with what the configuration accepts', () => {
    const [first, ...others] = environmentsOf('fieldline')
    for (const other of others) expect(other).toEqual(first)
    const given = Object.entries(first ?? {}).map(([name, value]) => [name, fill(`${value}`)])
    const config = toConfig(readEnv(Object.fromEntries(given)))
    expect(config.kafka).toMatchObject({ replication: 3 })
    expect(config.kafka?.brokers).toHaveLength(3)
    expect(splitUrl(config.databaseUrl?.current ?? '')).toHaveLength(2)
    expect([...config.roles]).toEqual([...ROLES])
  })

  it('have brokers of one cluster, with the settings of which the tests lose any one', () => {
    const environments = environmentsOf('kafka') as Record<string, string>[]
    expect(environments.map(({ KAFKA_NODE_ID: id }) => id)).toEqual([1, 2, 3])
    for (const [index, environment] of environments.entries()) {
      const own = (MACHINES[index] as string).toUpperCase()
      const voter = `${environment.KAFKA_NODE_ID}@\${${own}:?}:9093`
      expect(environment.KAFKA_CONTROLLER_QUORUM_VOTERS?.split(',')).toContain(voter)
      expect(environment.KAFKA_ADVERTISED_LISTENERS).toBe(`BROKER://\${${own}:?}:9092`)
      for (const [name, value] of Object.entries(replicated)) {
        expect(`${environment[`KAFKA_${name.replaceAll('.', '_').toUpperCase()}`]}`, name).toBe(value)
      }
    }
    const shared = ({
      KAFKA_NODE_ID,
      KAFKA_LISTENERS,
      KAFKA_ADVERTISED_LISTENERS,
      ...rest
    }: Record<string, string>) => rest
    for (const environment of environments) {
      expect(shared(environment)).toEqual(shared(environments[0] as Record<string, string>))
    }
  })

  it('have one PostgreSQL and its standby, which commit on both disks whichever takes writes', () => {
    const [first, second, third] = files.map(({ services }) => services.postgres)
    expect(second).toEqual(first)
    expect(third).toBeUndefined()
    expect(first?.image).toBe(compose.services.postgres?.image)
    expect(first?.command?.at(-1)).toContain(`-c synchronous_standby_names='*' -c synchronous_commit=on`)
  })

  it('have volumes for what they name, and the versions of the other file', () => {
    for (const file of files) {
      expect(file.services.kafka?.image).toBe(compose.services.kafka?.image)
      const named = Object.values(file.services).flatMap(({ volumes = [] }) =>
        volumes.map(volume => volume.split(':')[0] as string).filter(name => !name.startsWith('/')),
      )
      expect(named.sort()).toEqual(Object.keys(file.volumes).sort())
    }
  })
})

/** The value that a shell would insert for `${NAME:-default}` and `${NAME:?message}`. */
function fill(value: string): string {
  return value.replace(
    /\$\{\w+(:-([^}]*)|:\?[^}]*)?\}/g,
    (_all, _rest, otherwise) => otherwise ?? 'x'.repeat(40),
  )
}
