import { AddressNotPublic } from '../../../fair/public-addresses.ts'

/** Why a broker's connection ended, as a sentence for the person who set it up. */
export class BrokerFault extends Error {}

/** The broker does not speak this version of MQTT. */
export class WrongVersion extends BrokerFault {}

const SENTENCES: { [code: string]: string } = {
  ECONNREFUSED: 'Nothing answers at the address and port of the broker.',
  ENOTFOUND: 'The name of the broker is not known.',
  EAI_AGAIN: 'The name of the broker cannot be looked up at the moment.',
  ETIMEDOUT: 'The broker does not answer in time.',
  EHOSTUNREACH: 'There is no way to the address of the broker.',
  ENETUNREACH: 'There is no way to the address of the broker.',
  ECONNRESET: 'The broker closed the connection.',
  EPIPE: 'The broker closed the connection.',
  EPROTO: 'The broker does not speak TLS at this port, or no version that is safe.',
  CERT_HAS_EXPIRED: 'The certificate of the broker has expired.',
  CERT_NOT_YET_VALID: 'The certificate of the broker is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the broker is for another name.',
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 'The broker sends larger messages over WebSocket than are read here.',
  ERR_SSL_WRONG_VERSION_NUMBER: 'The broker does not speak TLS at this port.',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'The broker does not know who signed our client certificate.',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'The broker asks for a client certificate.',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'The broker and Fieldline have no way of TLS in common.',
}
for (const code of [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
])
  SENTENCES[code] = 'The certificate of the broker is signed by nobody that is known: give its caCertificate.'

const MAX_DEPTH = 5

/** A sentence about an error. It names no address, which would show to what a name of the internal network resolves. */
export function explainFault(error: unknown, depth = 0): string {
  if (error instanceof BrokerFault) return error.message
  if (error instanceof AddressNotPublic)
    return 'The broker has a private address, and CONNECTIONS_ALLOW_PRIVATE is not set.'
  if (error instanceof AggregateError && error.errors[0] && depth < MAX_DEPTH)
    return explainFault(error.errors[0], depth + 1)
  const { code = '', message = '', cause } = error as { code?: string; message?: string; cause?: unknown }
  const known = SENTENCES[code]
  if (known) return known
  const status = /Unexpected server response: (\d+)/.exec(message)?.[1]
  if (status) return `The broker's address answers a WebSocket with HTTP ${status}.`
  if (cause !== undefined && depth < MAX_DEPTH) return explainFault(cause, depth + 1)
  return `The connection to the broker failed${/^\w+$/.test(code) ? ` (${code})` : ''}.`
}

const REFUSED_3: { [code: number]: string } = {
  2: 'The broker refuses the client identifier.',
  3: 'The broker is not available at the moment.',
  4: 'The broker refuses the user name or the password.',
  5: 'The broker refuses the user name or the password.',
}
const REFUSED_5: { [code: number]: string } = {
  133: 'The broker refuses the client identifier.',
  134: 'The broker refuses the user name or the password.',
  135: 'The broker refuses the user name or the password.',
  136: 'The broker is not available at the moment.',
  137: 'The broker is busy.',
  138: 'The broker has banned this client.',
  140: 'The broker wants another way of signing in.',
  151: 'The broker says that a quota is exceeded.',
  156: 'The broker wants another server to be used.',
  157: 'The broker has moved to another server.',
  159: 'The broker says that connections come too often.',
}

/** The error of a CONNACK that refuses, by its code. */
export function refusal(code: number, version: 4 | 5): BrokerFault {
  if (code === (version === 5 ? 0x84 : 1))
    return new WrongVersion('The broker speaks neither MQTT 5 nor 3.1.1.')
  const sentence = (version === 5 ? REFUSED_5 : REFUSED_3)[code]
  return new BrokerFault(sentence ?? `The broker refuses the connection (code ${code}).`)
}

/** The error of a DISCONNECT of version 5. */
export function farewell(code: number): BrokerFault {
  if (code === 0x8e)
    return new BrokerFault('Another client has signed in to the broker under the same client identifier.')
  if (code === 0x8b) return new BrokerFault('The broker is shutting down.')
  return new BrokerFault(`The broker ended the connection (code ${code}).`)
}
