import type { KafkaSecurity } from './security.ts'

/** No further attempt helps: somebody has to change the configuration, the brokers or the rights of the user. */
export class FinalFailure extends Error {}

/** Node.js's codes of a broker's certificate that is not accepted, and of an alert that the broker has sent. */
const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_|ERROR_IN_CERT|HOSTNAME_MISMATCH$|INVALID_CA$|EPROTO$)/

interface KafkaError extends Error {
  type?: string
  code?: unknown
  broker?: string
  /** The errors of several topics. */
  errors?: unknown
}

interface Attempt {
  brokers: readonly string[]
  security: KafkaSecurity
}

/** Every error below `error`: kafkajs wraps the one of an attempt into the one of all attempts. */
function* causesOf(error: unknown): Generator<KafkaError> {
  for (let current = error; current instanceof Error; current = current.cause) {
    yield current as KafkaError
    const { errors } = current as KafkaError
    if (Array.isArray(errors)) for (const one of errors) yield* causesOf(one)
  }
}

/**
 * A failure to connect or sign in, in words that name the variable to look at; null for any other. A broker that closes
 * the connection may be starting, so that is not final.
 */
export function explainConnecting(error: unknown, { brokers, security }: Attempt): Error | null {
  for (const cause of causesOf(error)) {
    const reason = cause.message.replace(/^Connection error: /, '')
    if (cause.name === 'KafkaJSSASLAuthenticationError') {
      return new FinalFailure(
        `Kafka (${brokers.join(', ')}) rejects the user "${security.sasl?.username}": ${reason}. ` +
          'Check KAFKA_USERNAME, KAFKA_PASSWORD and KAFKA_SASL_MECHANISM.',
        { cause: error },
      )
    }
    if (typeof cause.code === 'string' && TLS_CODES.test(cause.code)) {
      const where = cause.broker ?? brokers.join(', ')
      const message = `No encrypted connection to Kafka (${where}): ${reason}. ${adviseOn(cause.code)}`
      return new FinalFailure(message, { cause: error })
    }
    if (cause.name === 'KafkaJSConnectionClosedError' || cause.code === 'ECONNRESET') {
      const advice = adviseOnClosed(security)
      return new Error(`Kafka (${brokers.join(', ')}) closes the connection. ${advice}`, { cause: error })
    }
    if (cause.name === 'KafkaJSConnectionError') {
      return new Error(`Kafka (KAFKA_BROKERS) cannot be reached: ${reason}`, { cause: error })
    }
  }
  return null
}

function adviseOn(code: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'KAFKA_BROKERS, and what the brokers advertise, has to be a name in their certificate.'
  if (code === 'CERT_HAS_EXPIRED') return 'The certificate of the broker has to be renewed.'
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return 'KAFKA_TLS is set, and this port does not speak TLS: name the port that does in KAFKA_BROKERS.'
  if (/ALERT/.test(code))
    return 'The broker demands another certificate of its clients: check KAFKA_TLS_CERT and KAFKA_TLS_KEY.'
  return 'Set KAFKA_TLS to a file with the certificate of the authority that signed the one of the broker.'
}

function adviseOnClosed({ tls, sasl }: KafkaSecurity): string {
  if (!tls) return 'If it demands TLS, set KAFKA_TLS; if it demands a user, set KAFKA_SASL_MECHANISM.'
  const port = 'If this port does not speak TLS, name the one that does in KAFKA_BROKERS'
  return sasl ? `${port}.` : `${port}; if it demands a user, set KAFKA_SASL_MECHANISM.`
}

/** The type of the error of Kafka's protocol, such as `TOPIC_AUTHORIZATION_FAILED`, if one is among the given types. */
export function protocolErrorOf(error: unknown, types: RegExp): string | null {
  for (const { type } of causesOf(error)) if (type !== undefined && types.test(type)) return type
  return null
}
