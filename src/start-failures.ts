import { splitUrl } from '../db/drivers/postgres-hosts.ts'
import { isRefused, sqlState } from '../db/errors.ts'
import { explainDataDir } from './config/data-dir.ts'
import type { Config } from './config.ts'

/**
 * Words for a start that fails or waits: the variable to look at, the host, and the next step. Everything else that a
 * start throws is written for its reader already (migrations, roles, Kafka), and stays as it is.
 */
export function explainStart(error: unknown, config: Config): unknown {
  if (!(error instanceof Error)) return error
  const sentence = ofListener(error, config) ?? ofDatabase(error, config) ?? ofFiles(error, config)
  return sentence === null ? error : new Error(sentence, { cause: error })
}

/** Whether trying again cannot help, though the database did not reject a statement. */
export const isFinal = (error: unknown): boolean =>
  isRefused(error) || isPooler(error) || hasNoDatabase(error)

type SystemError = Error & {
  code?: unknown
  syscall?: string
  port?: number
  path?: string
  hostname?: string
}

function ofListener(error: SystemError, config: Config): string | null {
  if (error.syscall !== 'listen' && error.syscall !== 'getaddrinfo') return null
  if (error.syscall === 'getaddrinfo') {
    return error.hostname === config.host
      ? `HOST is "${config.host}", which is no address of this machine: set HOST to one, or to 0.0.0.0 for all of them.`
      : null
  }
  const names = [
    ['PORT', config.port],
    ['MQTT_PORT', config.mqttPort],
    ['MQTT_TLS_PORT', config.mqttTls?.port],
    ['METRICS_PORT', config.metricsPort],
  ] as const
  const name = names.find(([, port]) => port === error.port)?.[0] ?? 'PORT'
  const where = `${name} ${error.port} on ${config.host}`
  if (error.code === 'EADDRINUSE')
    return `${where} is in use by another program: end that one, or set ${name} to another port.`
  if (error.code === 'EACCES')
    return `${where} may not be opened by this user: set ${name} to a port above 1023, or grant CAP_NET_BIND_SERVICE.`
  if (error.code === 'EADDRNOTAVAIL')
    return `HOST is "${config.host}", which is no address of this machine: set HOST to one, or to 0.0.0.0 for all of them.`
  return null
}

const isPooler = (error: unknown) =>
  error instanceof Error && /unsupported startup parameter/.test(error.message)

const hasNoDatabase = (error: unknown) => sqlState(error) === '3D000'

function ofDatabase(error: SystemError, config: Config): string | null {
  if (!config.databaseUrl) return null
  const place = `The database (DATABASE_URL, ${hostsOf(config.databaseUrl.current)})`
  if (isPooler(error)) {
    return (
      `${place} is behind a pooler such as PgBouncer, which cannot do everything: ` +
      "set DATABASE_DIRECT_URL to the server's own address as well (docs/postgresql.md)."
    )
  }
  if (hasNoDatabase(error)) return `${place}: ${error.message}. Create it, or name another in DATABASE_URL.`
  const state = sqlState(error)
  if (state === '28P01') return `${place}: ${error.message}. Check the user and password in DATABASE_URL.`
  if (isRefused(error)) {
    const hint = /no encryption|no pg_hba\.conf entry/.test(error.message)
      ? 'Its pg_hba.conf has to allow this user from here; check sslmode in DATABASE_URL'
      : 'Check the user in DATABASE_URL'
    return `${place}: ${error.message}. ${hint}.`
  }
  if (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN')
    return `${place}: no address is known for the host "${error.hostname}". Check the name in DATABASE_URL.`
  if (error.syscall === 'connect' || /timeout exceeded when trying to connect/.test(error.message))
    return `${place} does not answer: ${error.message}. Check that it runs, and host and port in DATABASE_URL.`
  if (/does not support SSL connections/.test(error.message))
    return `${place} does not speak TLS, and sslmode in DATABASE_URL demands it.`
  if (error.code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${place}: ${error.message}. The host in DATABASE_URL has to be a name in its certificate (sslmode=verify-full).`
  if (typeof error.code === 'string' && /^(CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/.test(error.code))
    return `${place}: its certificate is not trusted (${error.message}). Name the authority's file as sslrootcert in DATABASE_URL.`
  return null
}

/** The hosts of an address, without user and password. */
function hostsOf(address: string): string {
  return splitUrl(address)
    .map(url => /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(url)?.[1] || 'localhost')
    .join(', ')
}

function ofFiles(error: SystemError, config: Config): string | null {
  const { code } = error
  if (typeof code === 'string' && /^ERR_OSSL_/.test(code) && config.mqttTls) {
    const { certFile, keyFile } = config.mqttTls
    return `MQTT_TLS_CERT (${certFile}) and MQTT_TLS_KEY (${keyFile}) have to be a certificate and its key, as PEM: ${error.message}.`
  }
  return explainDataDir(error, config.dataDir)
}
