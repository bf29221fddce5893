import { readFileSync } from 'node:fs'
import { isIP, type Socket } from 'node:net'
import { connect } from 'node:tls'
import type { SASLOptions } from 'kafkajs'
import type { Secret } from '../../db/secret.ts'

export const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const

/** How Fieldline and the brokers prove to each other who they are. */
export interface KafkaSecurity {
  /** Null means unencrypted connections. Without `caFile` the authorities that Node.js knows are trusted. */
  tls: {
    caFile: string | undefined
    own: { certFile: string; keyFile: string } | undefined
  } | null
  /** Null means no signing in. */
  sasl: { mechanism: (typeof SASL_MECHANISMS)[number]; username: string; password: Secret } | null
}

export const UNSECURED: KafkaSecurity = { tls: null, sasl: null }

/** Opens an encrypted connection. The files are read for every connection, so that a renewed certificate is used. */
export function connectEncrypted(
  tls: NonNullable<KafkaSecurity['tls']>,
  to: { host: string; port: number },
): Socket {
  return connect({
    ...to,
    // RFC 6066, section 3: the name of a server is no address.
    ...(isIP(to.host) === 0 && { servername: to.host }),
    ...(tls.caFile !== undefined && { ca: readFileSync(tls.caFile) }),
    ...(tls.own && { cert: readFileSync(tls.own.certFile), key: readFileSync(tls.own.keyFile) }),
  })
}

/** kafkajs asks for the password with every connection, so that a replaced one is used from the next on. */
export function toSaslOptions({ mechanism, username, password }: NonNullable<KafkaSecurity['sasl']>) {
  return {
    mechanism,
    username,
    get password() {
      return password.current
    },
  } as SASLOptions
}
