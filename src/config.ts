import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createFile, createFolder, replaceFile } from '../db/durable-files.ts'
import { type Secret, type Secrets, toSecrets } from '../db/secret.ts'
import { type BasemapSetting, OWN_ARCHIVE, readBasemap } from './basemap/setting.ts'
import { explainDataDir } from './config/data-dir.ts'
import { readDatabaseUrls } from './config/database.ts'
import { type KafkaConfig, readKafka } from './config/kafka.ts'
import { type MailConfig, readMail } from './config/mail.ts'
import { type OidcConfig, readOidc } from './config/oidc.ts'
import { readPorts } from './config/ports.ts'
import { readProxies } from './config/proxies.ts'
import { readPublicUrl } from './config/public-url.ts'
import { createReader, type Env, type Reader } from './config/reader.ts'
import { findMistyped } from './config/unknown.ts'

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
/** Without TimescaleDB there is a table for each week, and a query plans all of them that it needs. */
const MAX_RETENTION_DAYS = 3_660
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface Config {
  roles: ReadonlySet<Role>
  host: string
  port: number
  mqttPort: number
  /** Undefined means no listener for MQTT over TLS. */
  mqttTls: { port: number; certFile: string; keyFile: string } | undefined
  /** New MQTT connections a second, beyond which they wait; 0 means no limit. */
  mqttConnectionsPerSecond: number
  /** Whether connections of trusted proxies to MQTT begin with a header of the PROXY protocol. */
  mqttProxyProtocol: boolean
  dataDir: string
  /** Undefined means the embedded database. */
  databaseUrl: Secret | undefined
  databaseDirectUrl: Secret | undefined
  /** Undefined means the log within the process. */
  kafka: KafkaConfig | undefined
  /** The first signs and seals, all verify and open. */
  jwtSecret: Secrets
  /** Whether anybody may register. */
  allowSignup: boolean
  /** Undefined means that the server sends no mail. */
  mail: MailConfig | undefined
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
  /** How long points are kept. */
  retentionDays: number
  logLevel: LogLevel
  /** Undefined means that the metrics are on the port of HTTP. */
  metricsPort: number | undefined
  /** Where the streets of the maps come from. */
  basemap: BasemapSetting
  /** How much of a basemap that another server holds is kept under DATA_DIR; 0 is nothing. */
  basemapCacheMb: number
  /** The origin under which people reach the server, such as `https://fieldline.example`; undefined if it is not set. */
  publicUrl: string | undefined
  /** Undefined means no single sign-on. */
  oidc: OidcConfig | undefined
  owner: { email: string; password: string | undefined; organization: string }
}

export class ConfigError extends Error {}

/** The environment, in which empty variables count as absent. */
export function readEnv(environment: Env = process.env): Env {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
}

/**
 * Throws a ConfigError that names every wrong variable. Later `onIgnored` gets a sentence for each new content of a
 * secret's file that does not count.
 */
export function toConfig(given: Env, onIgnored?: (sentence: string) => void): Config {
  const read = createReader(given, onIgnored)
  const { env, problems, text, list, count, flag } = read
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

  const { databaseUrl, databaseDirectUrl } = readDatabaseUrls(read)
  const kafka = readKafka(read)
  if (kafka && !databaseUrl) problems.push('KAFKA_BROKERS requires DATABASE_URL')
  const dataDir = resolve(text('DATA_DIR', './data'))
  const jwtSecret = readJwtSecret(read)
  if (jwtSecret === undefined && databaseUrl)
    problems.push('JWT_SECRET is required with DATABASE_URL (openssl rand -hex 32)')
  const password = read.secret('FIELDLINE_OWNER_PASSWORD')?.current
  if (password !== undefined && password.length < 10) {
    problems.push('FIELDLINE_OWNER_PASSWORD has to have at least 10 characters')
  }

  const corsOrigins = list('CORS_ORIGINS')
  if (corsOrigins.some(origin => !isOrigin(origin))) {
    problems.push(
      `CORS_ORIGINS has to be a list of origins such as https://example.com, it is "${env.CORS_ORIGINS}"`,
    )
  }

  const basemap = readBasemap(env.BASEMAP)
  if (typeof basemap === 'string') problems.push(basemap)

  const ports = readPorts(read, roles.has('ingest'))
  const trustedProxies = readProxies(read, 'TRUSTED_PROXIES')
  const mqttProxyProtocol = flag('MQTT_PROXY_PROTOCOL')
  if (mqttProxyProtocol && trustedProxies.length === 0)
    problems.push('MQTT_PROXY_PROTOCOL requires TRUSTED_PROXIES: the addresses of the balancer')
  const publicUrl = readPublicUrl(read)

  const config: Config = {
    roles: roles as ReadonlySet<Role>,
    host: text('HOST', '127.0.0.1'),
    ...ports,
    mqttConnectionsPerSecond: count('MQTT_CONNECTIONS_PER_SECOND', 1000),
    mqttProxyProtocol,
    dataDir,
    databaseUrl,
    databaseDirectUrl,
    kafka,
    jwtSecret: jwtSecret ?? { current: [] },
    allowSignup: flag('ALLOW_SIGNUP'),
    mail: readMail(read, publicUrl),
    webhookAllowPrivate: flag('WEBHOOK_ALLOW_PRIVATE'),
    connectionsAllowPrivate: flag('CONNECTIONS_ALLOW_PRIVATE'),
    exportDirectLimit: count('EXPORT_DIRECT_LIMIT', 1000, 0, MAX_DIRECT_EXPORT),
    rateLimitPerMinute: count('RATE_LIMIT_PER_MINUTE', 1200),
    liveSocketsPerUser: count('LIVE_SOCKETS_PER_USER', 50),
    drainSeconds: count('DRAIN_SECONDS', 15, 0, MAX_DRAIN_S),
    retentionDays: count('RETENTION_DAYS', 365, 1, MAX_RETENTION_DAYS),
    logLevel: read.choice('LOG_LEVEL', LOG_LEVELS) ?? 'info',
    trustedProxies,
    corsOrigins,
    basemap: typeof basemap === 'string' ? OWN_ARCHIVE : basemap,
    basemapCacheMb: count('BASEMAP_CACHE_MB', 1_000),
    publicUrl,
    oidc: readOidc(read, publicUrl),
    owner: {
      email: text('FIELDLINE_OWNER_EMAIL', 'owner@example.com'),
      password,
      organization: text('FIELDLINE_ORGANIZATION', 'My organization'),
    },
  }
  problems.push(...findMistyped(given, read.asked))
  if (problems.length > 0) throw new ConfigError(problems.join('; '))
  return jwtSecret ? config : { ...config, jwtSecret: { current: [keepSecret(dataDir)] } }
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

function readJwtSecret(read: Reader): Secrets | undefined {
  const [one, several] = [read.secret('JWT_SECRET'), read.secret('JWT_SECRETS')]
  if (one && several) read.problems.push('JWT_SECRET and JWT_SECRETS are both set: set one of them')
  const isLong = (secret: string) => secret.length >= MIN_SECRET_LENGTH
  const isValid = (secrets: readonly string[]) => secrets.length > 0 && secrets.every(isLong)
  if (one && !isLong(one.current))
    read.problems.push(`JWT_SECRET has to have at least ${MIN_SECRET_LENGTH} characters`)
  const onIgnored = () =>
    read.ignore(
      several ? 'JWT_SECRETS' : 'JWT_SECRET',
      `has a secret of under ${MIN_SECRET_LENGTH} characters`,
    )
  if (!several) return one && toSecrets(one, { isValid, split: text => [text], onIgnored })
  const secrets = toSecrets(several, { isValid, onIgnored })
  if (!isValid(secrets.current))
    read.problems.push(`JWT_SECRETS has to have secrets of at least ${MIN_SECRET_LENGTH} characters each`)
  return secrets
}

/** The secret of the embedded tier, created at the first start and read again at every later one. */
function keepSecret(dataDir: string): string {
  try {
    return readOwnSecret(dataDir)
  } catch (error) {
    const sentence = explainDataDir(error, dataDir)
    throw sentence === null ? error : new ConfigError(sentence, { cause: error })
  }
}

function readOwnSecret(dataDir: string): string {
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
