import type { Secret } from '../../db/secret.ts'
import type { Reader } from './reader.ts'

/** Single sign-on by OpenID Connect. */
export interface OidcConfig {
  issuer: string
  clientId: string
  clientSecret: Secret
  /** The provider's name on the button. */
  label: string
  /** Whether passwords are closed for all but the first owner. */
  only: boolean
}

/** It stands on a button. */
const MAX_LABEL = 60
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

export function readOidc(read: Reader, publicUrl: string | undefined): OidcConfig | undefined {
  const { env, problems, text } = read
  const clientId = env.OIDC_CLIENT_ID
  const clientSecret = read.secret('OIDC_CLIENT_SECRET')
  const label = text('OIDC_LABEL', 'single sign-on')
  const only = read.flag('OIDC_ONLY')
  const issuer = env.OIDC_ISSUER
  if (issuer === undefined) {
    const given = {
      OIDC_CLIENT_ID: clientId !== undefined,
      OIDC_CLIENT_SECRET: clientSecret !== undefined,
      OIDC_LABEL: env.OIDC_LABEL !== undefined,
      OIDC_ONLY: only,
    }
    for (const [name, isGiven] of Object.entries(given))
      if (isGiven) problems.push(`${name} requires OIDC_ISSUER`)
    return undefined
  }
  if (!isIssuer(issuer))
    problems.push(`OIDC_ISSUER has to be an https URL (http on this machine alone), it is "${issuer}"`)
  if (label.length > MAX_LABEL) problems.push(`OIDC_LABEL has to have at most ${MAX_LABEL} characters`)
  if (publicUrl === undefined && env.PUBLIC_URL === undefined)
    problems.push('OIDC_ISSUER requires PUBLIC_URL, the origin to which the provider sends people back')
  if (clientId === undefined) problems.push('OIDC_ISSUER requires OIDC_CLIENT_ID')
  if (clientSecret === undefined && env.OIDC_CLIENT_SECRET_FILE === undefined)
    problems.push('OIDC_ISSUER requires OIDC_CLIENT_SECRET')
  return clientId && clientSecret ? { issuer, clientId, clientSecret, label, only } : undefined
}

/** OpenID Connect Discovery 1.0, 3: a URL without query and fragment. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
}
