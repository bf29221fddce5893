import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Broker } from '../../../db/schema/connections.ts'
import type { BrokerSecrets } from '../../../ingest/connections/broker/settings.ts'
import { FieldErrors, invalid } from '../../http/errors.ts'
import type { NewBroker } from './schemas.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Throws 400 for a broker that nobody could connect to. */
export function checkBroker(broker: Broker, { clientKey }: BrokerSecrets): void {
  const { url, caCertificate, clientCertificate } = broker
  const isSecure = /^(mqtts|wss):/i.test(url)
  for (const [path, pem] of Object.entries({ caCertificate, clientCertificate })) {
    if (pem === null) continue
    if (!isSecure) throw invalid(`broker.${path}`, 'This needs an address that begins with mqtts or wss.')
    const found = pem.match(CERTIFICATE) ?? []
    if (found.length === 0 || !found.every(isCertificate))
      throw invalid(`broker.${path}`, 'This has to be a certificate in PEM.')
  }
  if (clientKey !== null && clientCertificate === null)
    throw invalid('broker.clientCertificate', 'This belongs to the key: give both.', 'required')
  if (clientCertificate === null) return
  if (clientKey === null)
    throw invalid('broker.clientKey', 'This belongs to the certificate: give both.', 'required')
  if (!isKeyOf(clientKey, clientCertificate))
    throw invalid('broker.clientKey', 'This has to be the key of the certificate, in PEM without a password.')
}

/**
 * The broker and its secrets after a change; `secrets` is null if the stored ones cannot be opened. Throws 400 if those
 * are not given again, since a change of something else would erase them. The same if the address changes: otherwise
 * whoever may change a connection could have a stored secret sent to a server of their own.
 */
export function changeBroker(
  before: { broker: Broker; secrets: BrokerSecrets | null },
  { password, clientKey, ...change }: Partial<NewBroker>,
): { broker: Broker; secrets: BrokerSecrets } {
  const broker = { ...before.broker, ...change }
  // A key is only stored with its certificate.
  const closed = { password: true, clientKey: before.broker.clientCertificate !== null }
  const kept = before.secrets ?? { password: null, clientKey: null }
  if (!before.secrets) requireAgain({ password, clientKey }, closed, UNREADABLE)
  else if (originOf(broker.url) !== originOf(before.broker.url)) {
    const stored = { password: kept.password !== null, clientKey: kept.clientKey !== null }
    requireAgain({ password, clientKey }, stored, OTHER_ADDRESS)
  }
  const secrets = {
    password: password === undefined ? kept.password : password,
    clientKey: clientKey === undefined ? kept.clientKey : clientKey,
  }
  return { broker, secrets }
}

const OTHER_ADDRESS = 'Give this again: another address must not be sent the old one.'
const UNREADABLE =
  "Give this again, or null if there is none: the server's own secret has changed, so the stored one cannot be read."

/** Throws 400 for the secrets that are stored and not given. */
function requireAgain(
  given: Partial<BrokerSecrets>,
  stored: Record<keyof BrokerSecrets, boolean>,
  message: string,
): void {
  const missing = (['password', 'clientKey'] as const).filter(
    name => stored[name] && given[name] === undefined,
  )
  if (missing.length > 0)
    throw new FieldErrors(
      missing.map(name => ({ path: `broker.${name}`, code: 'required' as const, message })),
      message,
    )
}

/** Without encryption a secret is sent to everybody on the way, so the protocol counts as well. */
function originOf(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

function isKeyOf(key: string, certificate: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
