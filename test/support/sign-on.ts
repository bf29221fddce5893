import { type Answer, createClient } from './client.ts'
import type { IdentityProvider, ProviderPerson } from './identity-provider.ts'
import type { Server } from './server.ts'

/** A browser without a page: it keeps cookies for each host, and follows redirects by hand. */
export interface TestBrowser {
  get(url: string, headers?: Record<string, string>): Promise<Response>
  /** The Set-Cookie headers of our own server so far. */
  cookies: string[]
}

export function createTestBrowser(server: Pick<Server, 'url'>): TestBrowser {
  const jars = new Map<string, Map<string, string>>()
  const cookies: string[] = []
  return {
    cookies,
    async get(url, headers = {}) {
      const { host } = new URL(url)
      const jar = jars.get(host) ?? new Map<string, string>()
      jars.set(host, jar)
      const cookie = [...jar].map(pair => pair.join('=')).join('; ')
      const answer = await fetch(url, { redirect: 'manual', headers: { cookie, ...headers } })
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
        if (value === '' || /max-age=0/i.test(set)) jar.delete(name)
        else jar.set(name, value)
        if (url.startsWith(server.url)) cookies.push(set)
      }
      return answer
    },
  }
}

const API = '/api/v3/auth/oidc'

/** Begins single sign-on. Returns the address at the provider. */
export async function beginSignOn(server: Server, browser: TestBrowser, returnTo = '/tasks'): Promise<URL> {
  const answer = await browser.get(`${server.url}${API}/start?returnTo=${encodeURIComponent(returnTo)}`)
  if (answer.status !== 303) throw new Error(`Not begun: ${answer.status} ${await answer.text()}`)
  return new URL(answer.headers.get('location') as string)
}

/** Signs in at the provider. Returns the address of the callback, on the server under test. */
export async function passProvider(server: Server, browser: TestBrowser, at: URL): Promise<URL> {
  for (let url = at; ; ) {
    const answer = await browser.get(url.href)
    const location = answer.headers.get('location')
    if (!location) throw new Error(`The provider stopped: ${answer.status} ${await answer.text()}`)
    url = new URL(location, url)
    if (url.pathname === `${API}/callback`) return new URL(`${server.url}${url.pathname}${url.search}`)
  }
}

/** The whole way to the callback's answer. */
export async function signOn(
  server: Server,
  provider: IdentityProvider,
  person: ProviderPerson,
  { browser = createTestBrowser(server), returnTo = '/tasks' } = {},
): Promise<Response> {
  provider.person = person
  const callback = await passProvider(server, browser, await beginSignOn(server, browser, returnTo))
  return browser.get(callback.href)
}

export const codeFrom = (answer: Response): string => {
  const location = answer.headers.get('location')
  const code = location && new URL(location, 'http://x').searchParams.get('code')
  if (!code) throw new Error(`No code: ${answer.status} ${location}`)
  return code
}

export const trade = (server: Server, code: string): Promise<Answer> =>
  createClient(server, '').post('/auth/oidc/session', { code })
