import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, describeFailure, say } from './command.ts'
import type { Credential } from './options.ts'

/** The server does not answer; it may return later. */
export class ServerAway extends CommandError {}

/** The server answered with a failure that waiting does not solve. */
export class RequestFailed extends CommandError {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The REST interface for commands. */
export interface Api {
  /**
   * Resolves to the body of the answer. Waits and tries again if the server asks for it; throws ServerAway or
   * RequestFailed.
   */
  call<T>(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<T>
}

const ANSWER_WITHIN_MS = 30_000
/** How often a request is sent while a dependency of the server is away. */
const ATTEMPTS = 6
/** A longer limit is reported instead of awaited. */
const LONGEST_WAIT_S = 70
const ANNOUNCE_EVERY_MS = 15_000

export function createApi(url: string, token?: string): Api {
  let announcedAt = Number.NEGATIVE_INFINITY

  async function send(method: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(`${url}/api/v3${path}`, {
        method,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        headers: {
          ...(token && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      })
    } catch (error) {
      throw new ServerAway(
        `There is no server at ${url}: ${describeFailure(error)}.\nStart one with: npm start`,
      )
    }
  }

  return {
    async call<T>(method: string, path: string, body?: unknown) {
      for (let attempt = 1; ; attempt++) {
        const response = await send(method, path, body)
        const answer = (await response.json().catch(() => null)) as {
          status?: boolean
          message?: string
        } | null
        if (typeof answer?.status !== 'boolean') {
          throw new CommandError(`The server at ${url} is not Fieldline (HTTP ${response.status}).`)
        }
        if (response.ok) return answer as T
        const waitS = Number(response.headers.get('retry-after') ?? Number.NaN)
        // 429 is retried without a limit: of several simultaneous requests one or two get through each time.
        const mayRetry = response.status === 429 || (response.status === 503 && attempt < ATTEMPTS)
        if (!mayRetry || !(waitS <= LONGEST_WAIT_S)) {
          throw new RequestFailed(response.status, answer.message ?? 'No reason given.')
        }
        if (Date.now() > announcedAt + ANNOUNCE_EVERY_MS) {
          announcedAt = Date.now()
          say(`The server asks to wait: ${answer.message}`)
        }
        await sleep(waitS * 1000)
      }
    },
  }
}

/** The token of a credential; signs in if it is an account. */
export async function signIn(url: string, credential: Credential): Promise<string> {
  if ('token' in credential) return credential.token
  try {
    const { token } = await createApi(url).call<{ token: string }>('POST', '/auth/login', credential)
    return token
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    const hint =
      error.status === 401
        ? '\nThe first password is FIELDLINE_OWNER_PASSWORD, or the one that the server printed at its first start.'
        : ''
    throw new RequestFailed(error.status, `Signing in as ${credential.email} failed: ${error.message}${hint}`)
  }
}
