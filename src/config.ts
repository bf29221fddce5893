import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createFile, createFolder, replaceFile } from '../db/durable-files.ts'
import { type BasemapSetting, OWN_ARCHIVE, readBasemap } from './basemap/setting.ts'

/**
 * The configuration. It comes from the environment only, in two steps: `readEnv` reads the texts, and `toConfig` checks
 * them together and reports all errors at once. Nothing else reads the environment.
 */
export const ROLES = ['api', 'ingest', 'writer', 'live', 'jobs'] as const
export type Role = (typeof ROLES)[number]
/** HMAC with SHA-256 is as strong as a key of 32 bytes. */
const MIN_SECRET_LENGTH = 32
/** The identifiers of a directly exported file's records are kept in memory. */
const MAX_DIRECT_EXPORT = 10_000
/** Without Kafka nothing is stored between these roles, so they run in one process. */
const TOGETHER = ['ingest', 'writer', 'live'] as const satisfies Role[]

/** For a longer drain, it is better to keep new clients from the process before stopping it. */
const MAX_DRAIN_S = 3_600

export interface Config {
  roles: ReadonlySet<Role>
  host: string
  port: number
  mqttPort: number
  /** Undefined means no listener for MQTT over TLS. */
  mqttTls: { port: number; certFile: string; keyFile: string } | undefined
  /** New MQTT connections a second, beyond which they wait; 0 means no limit. */
  mqttConnectionsPerSecond: number
  dataDir: string
  /** Undefined means the embedded database. */
  databaseUrl: string | undefined
  databaseDirectUrl: string | undefined
  /** Undefined means the log within the process. */
  kafka: { brokers: string[]; prefix: string; partitions: number; replication: number } | undefined
  jwtSecret: string
  /** Whether anybody may register. */
  allowSignup: boolean
  /** Whether webhooks may go to private addresses. */
  webhookAllowPrivate: boolean
  /** Whether connections may go to brokers at private addresses. */
  connectionsAllowPrivate: boolean
  /** The number of records up to which an export is sent as the answer. */
  exportDirectLimit: number
  /** REST requests per minute and caller; 0 means no limit. */
  rateLimitPerMinute: number
  /** Per process; 0 means no limit. */
  liveSocketsPerUser: number
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  trustedProxies: string[]
  /** Origins of foreign pages that may call the interface. */
  corsOrigins: string[]
  /** The time in which the process finishes requests and closes connections when it stops. */
  drainSeconds: number
  /** Where the streets of the maps come from. */
  basemap: BasemapSetting
  /** How much of a basemap that another server holds is kept under DATA_DIR; 0 is nothing. */
  basemapCacheMb: number
  owner: { email: string; password: string | undefined; organization: string }
}

export class ConfigError extends Error {}

type Env = Readonly<Record<string, string | undefined>>

/** The environment, in which empty variables count as absent. */
export function readEnv(environment: Env = process.env): Env {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
}

/** Throws a ConfigError that names every wrong variable. */
export function toConfig(env: Env): Config {
  const problems: string[] = []
  const text = (name: string, otherwise: string) => env[name] ?? otherwise
  const port = (name: string, otherwise: number) => {
    const value = Number(env[name] ?? otherwise)
    if (Number.isInteger(value) && value >= 0 && value <= 65_535) return value
    problems.push(`${name} has to be a port from 0 to 65535, it is "${env[name]}"`)
    return otherwise
  }
  const count = (name: string, otherwise: number, min = 0, max = Number.MAX_SAFE_INTEGER) => {
    const value = Number(env[name] ?? otherwise)
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value
    const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`
    problems.push(`${name} has to be a whole number from ${min}${upTo}, it is "${env[name]}"`)
    return otherwise
  }
  const flag = (name: string) => {
    const value = text(name, 'false')
    if (value !== 'true' && value !== 'false')
      problems.push(`${name} has to be true or false, it is "${value}"`)
    return value === 'true'
  }
  const url = (name: string) => {
    const value = env[name]
    if (value !== undefined && !/^postgres(ql)?:\/\//.test(value)) {
      problems.push(`${name} has to start with postgres:// or postgresql://`)
    }
    return value
  }

  const roles = new Set(
    text('ROLES', 'all') === 'all'
      ? ROLES
      : text('ROLES', '')
          .split(',')
          .map(name => name.trim()),
  )
  const unknown = [...roles].filter(name => !ROLES.includes(name as Role))
  if (unknown.length > 0) problems.push(`ROLES has "${unknown.join(', ')}"; there are ${ROLES.join(', ')}`)
  const absent = TOGETHER.filter(role => !roles.has(role))
  if (!env.KAFKA_BROKERS && absent.length > 0 && absent.length < TOGETHER.length) {
    problems.push(
      `Without KAFKA_BROKERS one process has the roles ${TOGETHER.join(', ')} together, ROLES lacks ${absent.join(', ')}`,
    )
  }

  const databaseUrl = url('DATABASE_URL')
  const brokers = env.KAFKA_BROKERS?.split(',').map(broker => broker.trim())
  if (brokers && !databaseUrl) problems.push('KAFKA_BROKERS requires DATABASE_URL')
  if (brokers?.some(broker => !/^(\[[\da-f:]+\]|[^\s:]+):\d+$/i.test(broker))) {
    problems.push(`KAFKA_BROKERS has to be a list of host:port, it is "${env.KAFKA_BROKERS}"`)
  }
  const prefix = text('KAFKA_PREFIX', 'fieldline')
  if (!/^[\w.-]{1,200}$/.test(prefix)) {
    problems.push('KAFKA_PREFIX has to be up to 200 letters, digits, dots, underscores and hyphens')
  }
  const kafka = {
    prefix,
    partitions: count('KAFKA_PARTITIONS', 8, 1),
    replication: count('KAFKA_REPLICATION', 1, 1),
  }
  const dataDir = resolve(text('DATA_DIR', './data'))
  const secret = env.JWT_SECRET
  if (secret !== undefined && secret.length < MIN_SECRET_LENGTH)
    problems.push(`JWT_SECRET has to have at least ${MIN_SECRET_LENGTH} characters`)
  if (secret === undefined && databaseUrl) problems.push('JWT_SECRET is required with DATABASE_URL')
  const password = env.FIELDLINE_OWNER_PASSWORD
  if (password !== undefined && password.length < 10) {
    problems.push('FIELDLINE_OWNER_PASSWORD has to have at least 10 characters')
  }

  const list = (name: string) =>
    text(name, '')
      .split(',')
      .map(part => part.trim())
      .filter(part => part !== '')
  const corsOrigins = list('CORS_ORIGINS')
  if (corsOrigins.some(origin => !isOrigin(origin))) {
    problems.push(
      `CORS_ORIGINS has to be a list of origins such as https://example.com, it is "${env.CORS_ORIGINS}"`,
    )
  }

  const basemap = readBasemap(env.BASEMAP)
  if (typeof basemap === 'string') problems.push(basemap)

  const { MQTT_TLS_CERT: certFile, MQTT_TLS_KEY: keyFile } = env
  if (env.MQTT_TLS_PORT !== undefined && !(certFile && keyFile)) {
    problems.push('MQTT_TLS_PORT requires MQTT_TLS_CERT and MQTT_TLS_KEY')
  }
  const tls = { port: port('MQTT_TLS_PORT', 8883), certFile: certFile ?? '', keyFile: keyFile ?? '' }

  const config: Config = {
    roles: roles as ReadonlySet<Role>,
    host: text('HOST', '127.0.0.1'),
    port: port('PORT', 3000),
    mqttPort: port('MQTT_PORT', 1883),
    mqttTls: env.MQTT_TLS_PORT === undefined ? undefined : tls,
    mqttConnectionsPerSecond: count('MQTT_CONNECTIONS_PER_SECOND', 1000),
    dataDir,
    databaseUrl,
    databaseDirectUrl: url('DATABASE_DIRECT_URL') ?? databaseUrl,
    kafka: brokers && { brokers, ...kafka },
    jwtSecret: secret ?? '',
    allowSignup: flag('ALLOW_SIGNUP'),
    webhookAllowPrivate: flag('WEBHOOK_ALLOW_PRIVATE'),
    connectionsAllowPrivate: flag('CONNECTIONS_ALLOW_PRIVATE'),
    exportDirectLimit: count('EXPORT_DIRECT_LIMIT', 1000, 0, MAX_DIRECT_EXPORT),
    rateLimitPerMinute: count('RATE_LIMIT_PER_MINUTE', 1200),
    liveSocketsPerUser: count('LIVE_SOCKETS_PER_USER', 50),
    drainSeconds: count('DRAIN_SECONDS', 15, 0, MAX_DRAIN_S),
    trustedProxies: list('TRUSTED_PROXIES'),
    corsOrigins,
    basemap: typeof basemap === 'string' ? OWN_ARCHIVE : basemap,
    basemapCacheMb: count('BASEMAP_CACHE_MB', 1_000),
    owner: {
      email: text('FIELDLINE_OWNER_EMAIL', 'owner@example.com'),
      password,
      organization: text('FIELDLINE_ORGANIZATION', 'My organization'),
    },
  }
  if (problems.length > 0) throw new ConfigError(problems.join('; '))
  return secret === undefined ? { ...config, jwtSecret: keepSecret(dataDir) } : config
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

/** The secret of the embedded tier, created at the first start and read again at every later one. */
function keepSecret(dataDir: string): string {
  const path = join(dataDir, 'jwt-secret')
  createFolder(dataDir)
  const created = randomBytes(32).toString('base64url')
  createFile(path, created)
  let kept = readFileSync(path, 'utf8').trim()
  if (kept === '') {
    // Nobody was ever signed in with an empty secret: a power cut or a full disk left it behind.
    replaceFile(path, created)
    kept = created
  }
  if (kept.length < MIN_SECRET_LENGTH) {
    throw new ConfigError(
      `${path} has to have at least ${MIN_SECRET_LENGTH} characters, it has ${kept.length}; delete it to have a new one generated, which signs everybody out`,
    )
  }
  return kept
}
