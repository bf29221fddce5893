/// <reference path="./oidc-provider.d.ts" />
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import Provider from 'oidc-provider'

/** Somebody who has an account at the provider. */
export interface ProviderPerson {
  sub: string
  email: string
  email_verified: unknown
}

/** A certified provider of OpenID Connect in the test's process. Whoever comes is signed in as `person`. */
export interface IdentityProvider {
  issuer: string
  env: Record<string, string>
  person: ProviderPerson
  /** While true, every connection is cut. */
  isAway: boolean
  /** Answers in place of the provider, if it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | null
  /** Changes the answers of the token endpoint. */
  tamper: ((answer: { id_token: string }) => Promise<object> | object) | null
  /** An ID token that the provider has signed. */
  sign(claims: object): Promise<string>
  /** Signs with other keys from now on, and forgets the old ones. */
  rotateKeys(): Promise<void>
  close(): Promise<void>
}

/** Programs on this machine are asked for consent every time. */
const AGREED = { consent: {} }
const CLIENT = { client_id: 'fieldline', client_secret: 'the secret of the client at the provider' }

export async function startIdentityProvider(publicUrl: string): Promise<IdentityProvider> {
  const server = createServer((request, response) => {
    if (provider.isAway) return void request.socket.destroy()
    if (provider.intercept?.(request, response)) return
    if (request.url?.startsWith('/token')) tamperWith(response)
    if (request.url?.startsWith('/interaction/'))
      return void inner.interactionFinished(request, response, {
        ...AGREED,
        login: { accountId: provider.person.sub },
      })
    void inner.callback()(request, response)
  })
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let keys = await createKeys()
  const create = () =>
    new Provider(
      issuer,
      configure(publicUrl, keys, sub => ({ ...provider.person, sub })),
    )

  function tamperWith(response: ServerResponse): void {
    const { tamper } = provider
    if (!tamper) return
    const end = response.end.bind(response)
    response.end = ((body: unknown) => {
      void Promise.resolve(tamper(JSON.parse(String(body)))).then(changed => {
        response.removeHeader('content-length')
        end(JSON.stringify(changed))
      })
      return response
    }) as typeof response.end
  }

  const provider: IdentityProvider = {
    issuer,
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.client_id,
      OIDC_CLIENT_SECRET: CLIENT.client_secret,
      OIDC_LABEL: 'Contoso',
      PUBLIC_URL: publicUrl,
    },
    person: { sub: 'nobody', email: 'nobody@example.com', email_verified: true },
    isAway: false,
    intercept: null,
    tamper: null,
    sign: claims =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid: keys.kid as string }).sign(keys),
    async rotateKeys() {
      keys = await createKeys()
      inner = create()
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  let inner = create()
  return provider
}

async function createKeys(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() }
}

const configure = (publicUrl: string, keys: JWK, claimsOf: (sub: string) => ProviderPerson) => ({
  clients: [
    {
      ...CLIENT,
      redirect_uris: [`${publicUrl}/api/v3/auth/oidc/callback`],
      // Addresses of http are for programs on this machine.
      application_type: publicUrl.startsWith('https:') ? 'web' : 'native',
    },
  ],
  jwks: { keys: [keys] },
  ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
  cookies: { keys: ['a key for the cookies of the provider'] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => claimsOf(sub) }),
  // Whoever signs in has agreed.
  async loadExistingGrant(ctx: {
    oidc: { provider: Provider; client: { clientId: string }; session: { accountId: string } }
  }) {
    const { provider, client, session } = ctx.oidc
    const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId })
    grant.addOIDCScope('openid email')
    await grant.save()
    return grant
  },
})
