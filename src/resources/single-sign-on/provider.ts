import * as openid from 'openid-client'
import { isEmailAddress } from '../../../db/email-address.ts'
import type { Identity } from '../../../db/queries/single-sign-on.ts'
import type { OidcConfig } from '../../config/oidc.ts'
import { notVerified, providerAway, signOnFailed } from './failures.ts'
import { fetchBounded } from './fetch.ts'

/** The random values of one sign-in, which its callback has to fit. */
export interface Checks {
  state: string
  nonce: string
  codeVerifier: string
}

/** A person whom the provider has let in, with the address that it has verified. */
export interface Person extends Identity {
  email: string
}

/** The provider of single sign-on. It is asked when somebody signs in, so a server starts without it. */
export interface Provider {
  /** Where to send the person. Throws 503 if the provider is away. */
  begin(): Promise<Checks & { url: URL }>
  /** Who comes back with this address. Throws 401 if anything does not fit, 503 if the provider is away. */
  finish(callback: URL, checks: Checks): Promise<Person>
}

/** Short, so that nobody is sent to a provider that is away: a browser would show an error of its own. */
const METADATA_LIFETIME_MS = 10_000
/** A provider that is away is not asked for each person who tries. */
const AGAIN_AFTER_MS = 2_000
const TIMEOUT_S = 10
/** OpenID Connect Core 1.0, 2: a subject has at most 255 characters. */
const MAX_SUBJECT = 255

export function createProvider(
  { issuer, clientId, clientSecret }: OidcConfig,
  { redirectUri, onFailure }: { redirectUri: string; onFailure: (reason: string) => void },
): Provider {
  const isPlain = issuer.startsWith('http:')
  let known: { metadata: openid.ServerMetadata; until: number } | undefined
  let asking: Promise<openid.ServerMetadata> | undefined
  let askAgainAt = 0

  async function readMetadata(): Promise<openid.ServerMetadata> {
    if (known && performance.now() < known.until) return known.metadata
    if (performance.now() < askAgainAt) throw providerAway()
    asking ??= discover().finally(() => {
      asking = undefined
    })
    return asking
  }

  async function discover(): Promise<openid.ServerMetadata> {
    try {
      const found = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
        [openid.customFetch]: (url, sent) => fetchBounded(url, sent, () => {}),
        timeout: TIMEOUT_S,
        execute: isPlain ? [openid.allowInsecureRequests] : [],
      })
      // A plain copy without the functions that the library adds.
      const metadata: openid.ServerMetadata = JSON.parse(JSON.stringify(found.serverMetadata()))
      if (!metadata.authorization_endpoint) throw new Error('The provider names no address to sign in at')
      known = { metadata, until: performance.now() + METADATA_LIFETIME_MS }
      return metadata
    } catch (error) {
      askAgainAt = performance.now() + AGAIN_AFTER_MS
      onFailure(reasonOf(error))
      throw providerAway()
    }
  }

  /** A client for one sign-in, so that it reads the provider's present keys. */
  function createClient(metadata: openid.ServerMetadata, onAway: () => void): openid.Configuration {
    const methods = metadata.token_endpoint_auth_methods_supported
    // OpenID Connect Discovery 1.0, 3: a provider that names none knows Basic.
    const isBasic = !methods || methods.includes('client_secret_basic')
    const authenticate = isBasic ? openid.ClientSecretBasic : openid.ClientSecretPost
    const client = new openid.Configuration(metadata, clientId, undefined, authenticate(clientSecret.current))
    client.timeout = TIMEOUT_S
    client[openid.customFetch] = (url, sent) => fetchBounded(url, sent, onAway)
    if (isPlain) openid.allowInsecureRequests(client)
    // The signature of the ID token is checked, though it comes from the provider itself.
    openid.enableNonRepudiationChecks(client)
    return client
  }

  return {
    async begin() {
      const client = createClient(await readMetadata(), () => {})
      const checks = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        codeVerifier: openid.randomPKCECodeVerifier(),
      }
      const url = openid.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(checks.codeVerifier),
        code_challenge_method: 'S256',
      })
      return { ...checks, url }
    },

    async finish(callback, { state, nonce, codeVerifier }) {
      let isAway = false
      const client = createClient(await readMetadata(), () => {
        isAway = true
      })
      try {
        const tokens = await openid.authorizationCodeGrant(client, callback, {
          ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier },
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims || claims.sub.length > MAX_SUBJECT) throw signOnFailed()
        // Many providers tell the address there alone.
        const told =
          claims.email === undefined && client.serverMetadata().userinfo_endpoint
            ? await openid.fetchUserInfo(client, tokens.access_token, claims.sub)
            : claims
        if (told.email_verified !== true || typeof told.email !== 'string') throw notVerified()
        if (!isEmailAddress(told.email)) throw notVerified()
        return { issuer: claims.iss, subject: claims.sub, email: told.email }
      } catch (error) {
        onFailure(reasonOf(error))
        if (isAway) throw providerAway()
        throw isOurs(error) ? error : signOnFailed()
      }
    },
  }
}

const isOurs = (error: unknown) => error instanceof Error && 'retryAfterS' in error

/** The part of an error that is safe to log: errors of the library contain URLs, authorization codes and tokens. */
function reasonOf(error: unknown): string {
  const { code, error: told } = error as { code?: unknown; error?: unknown }
  const words = [code, told].filter(word => typeof word === 'string' && /^[\w-]{1,80}$/.test(word))
  return words.join(' ') || 'the provider could not be reached'
}
