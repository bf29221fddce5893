import createClient, { type Client, type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch'
import { type BulkOptions, BulkSender } from './bulk.ts'
import { FieldlineError, fromAnswer, unreachable } from './error.ts'
import type { components, paths } from './interface.ts'
import { followLive, type LiveOptions } from './live.ts'
import type { LiveMessage } from './messages.ts'
import { createRetryingFetch, type RetryOptions } from './retry.ts'

export interface FieldlineOptions extends Partial<RetryOptions> {
  /** The server's address: `https://tracking.example.com`. A path behind which a proxy has it may follow. */
  baseUrl: string
  /** An API key, a user's token, or, for `bulk`, a device's key. */
  token?: string
  /** Called when the token is refused; the request is sent once more with the token that it resolves to. */
  refreshToken?: () => Promise<string>
}

const RETRY_FOR_MS = 60_000
const ANSWER_WITHIN_MS = 30_000
const UNAUTHORIZED = 401

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: unknown } ? P : never
}[keyof paths]
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer O } ? O : never
/** Parameters and body of a request; may be left out where the operation needs neither. */
type Init<P extends keyof paths, M extends Method> = MaybeOptionalInit<paths[P], M & keyof paths[P]>
type InitParam<I> = undefined extends I ? [init?: I] : [init: I]
/** The JSON of a success. */
type Answer<P extends keyof paths, M extends Method> = NonNullable<
  FetchResponse<Operation<P, M> & { [key: string]: unknown }, object, 'application/json'>['data']
>

/** The lists that are read page by page. */
export type PagedPath = {
  [P in PathsWith<'get'>]: Operation<P, 'get'> extends { parameters: { query?: { cursor?: string } } }
    ? Answer<P, 'get'> extends { data: unknown[]; pagination: object }
      ? P
      : never
    : never
}[PathsWith<'get'>]
/** A record of a list. */
export type RecordOf<P extends PagedPath> = Answer<P, 'get'> extends { data: (infer R)[] } ? R : never
type PageInit<P extends PagedPath> = Init<P, 'get'>
type Account = components['schemas']['PostAuthLoginBody'] & { code?: string }

/** The challenge of a sign-in that takes a code as well. */
function readChallenge(error: unknown): string | undefined {
  if (!(error instanceof FieldlineError) || error.code !== 'totp-required') return undefined
  return (error.body as { challenge?: string }).challenge
}

/**
 * A client of one Fieldline server. Every method throws a FieldlineError for an answer that is a failure, after it has tried
 * again for as long as `retryForMs` says where the server was away or asked to wait.
 */
export class Fieldline {
  readonly baseUrl: string
  /** Sent as bearer token with every request. `login` sets it. */
  token: string | undefined
  readonly #client: Client<paths, 'application/json'>
  readonly #refreshToken: (() => Promise<string>) | undefined
  #refreshing: Promise<string> | undefined

  constructor({ baseUrl, token, refreshToken, ...retry }: FieldlineOptions) {
    this.baseUrl = baseUrl.replace(/\/+$/, '')
    this.token = token
    this.#refreshToken = refreshToken
    this.#client = createClient<paths, 'application/json'>({
      baseUrl: `${this.baseUrl}/api/v3`,
      fetch: createRetryingFetch({ retryForMs: RETRY_FOR_MS, answerWithinMs: ANSWER_WITHIN_MS, ...retry }),
    })
    this.#client.use({
      onRequest: ({ request }) => {
        if (this.token !== undefined && !request.headers.has('authorization'))
          request.headers.set('authorization', `Bearer ${this.token}`)
      },
    })
  }

  /**
   * Signs in with an account. Its token is used from then on, and ends after eight hours; a program takes an API key. An account
   * with a second factor takes a `code` as well, of its app or a recovery code; without one this throws `totp-required`.
   */
  async login({ code, ...account }: Account): Promise<Answer<'/auth/login', 'post'>> {
    const answer = await this.post('/auth/login', { body: account }).catch((error: unknown) => {
      const challenge = code === undefined ? undefined : readChallenge(error)
      if (code === undefined || challenge === undefined) throw error
      return this.post('/auth/login/totp', { body: { challenge, code } })
    })
    this.token = answer.token
    return answer
  }

  get<P extends PathsWith<'get'>>(path: P, ...[init]: InitParam<Init<P, 'get'>>): Promise<Answer<P, 'get'>> {
    return this.#send('GET', path, init)
  }
  post<P extends PathsWith<'post'>>(
    path: P,
    ...[init]: InitParam<Init<P, 'post'>>
  ): Promise<Answer<P, 'post'>> {
    return this.#send('POST', path, init)
  }
  put<P extends PathsWith<'put'>>(path: P, ...[init]: InitParam<Init<P, 'put'>>): Promise<Answer<P, 'put'>> {
    return this.#send('PUT', path, init)
  }
  patch<P extends PathsWith<'patch'>>(
    path: P,
    ...[init]: InitParam<Init<P, 'patch'>>
  ): Promise<Answer<P, 'patch'>> {
    return this.#send('PATCH', path, init)
  }
  delete<P extends PathsWith<'delete'>>(
    path: P,
    ...[init]: InitParam<Init<P, 'delete'>>
  ): Promise<Answer<P, 'delete'>> {
    return this.#send('DELETE', path, init)
  }

  /** The pages of a list, each an array of records, from the first on or from `query.cursor`. */
  async *pages<P extends PagedPath>(
    path: P,
    ...[init]: InitParam<PageInit<P>>
  ): AsyncGenerator<RecordOf<P>[]> {
    const given = init as { params?: { query?: { [name: string]: unknown } } } | undefined
    let cursor = given?.params?.query?.cursor
    do {
      const query = { ...given?.params?.query, ...(cursor !== undefined && { cursor }) }
      const page = (await this.#send('GET', path, { ...given, params: { ...given?.params, query } })) as {
        data: RecordOf<P>[]
        pagination: { nextCursor: string | null }
      }
      yield page.data
      cursor = page.pagination.nextCursor ?? undefined
    } while (cursor !== undefined)
  }

  /** The records of a list, read page by page while they are taken. */
  async *records<P extends PagedPath>(path: P, ...init: InitParam<PageInit<P>>): AsyncGenerator<RecordOf<P>> {
    for await (const page of this.pages(path, ...init)) yield* page
  }

  /** A sender of points that keeps what is not acknowledged. */
  bulk(options: BulkOptions = {}): BulkSender {
    const send = async (points: object[], signal: AbortSignal) => {
      const answer = await this.#send('POST', '/location-history/bulk', { body: { points }, signal })
      // A network that asks for a sign-in of its own answers 200 too.
      if (!Array.isArray(answer?.data?.rejected)) throw unreachable(this.baseUrl, new Error('no report'))
      return answer
    }
    return new BulkSender(send, options)
  }

  /**
   * Live positions and changes until the caller leaves the loop. A lost connection is opened again and goes on at the cursor of
   * the last message, so that nothing is missed.
   */
  live(options: LiveOptions = {}): AsyncGenerator<LiveMessage> {
    const knock = (signal: AbortSignal) => this.get('/live', { signal })
    return followLive({ baseUrl: this.baseUrl, readToken: () => this.token, knock }, options)
  }

  // biome-ignore lint/suspicious/noExplicitAny: the methods above give paths, parameters and answers their types
  async #send(method: string, path: string, init: unknown): Promise<any> {
    const token = this.token
    const answer = await this.#request(method, path, init)
    if (answer.response.status !== UNAUTHORIZED || !this.#refreshToken || path.startsWith('/auth/login'))
      return this.#read(answer)
    await this.#refresh(token, this.#refreshToken)
    return this.#read(await this.#request(method, path, init))
  }

  /** An answer that breaks off, or that no Fieldline wrote, is none. */
  async #request(method: string, path: string, init: unknown) {
    try {
      return await this.#client.request(method as never, path as never, init as never)
    } catch (error) {
      if (error instanceof FieldlineError || (init as RequestInit | undefined)?.signal?.aborted) throw error
      const isCut = error instanceof TypeError || error instanceof SyntaxError
      throw isCut ? unreachable(this.baseUrl, error) : error
    }
  }

  #read({ data, error, response }: { data?: unknown; error?: unknown; response: Response }) {
    if (response.ok) return data
    throw fromAnswer(response.status, error)
  }

  /** Replaces the token that was refused, once for all requests that are under way with it. */
  async #refresh(refused: string | undefined, readToken: () => Promise<string>): Promise<void> {
    if (this.token !== refused) return
    this.#refreshing ??= readToken().finally(() => {
      this.#refreshing = undefined
    })
    this.token = await this.#refreshing
  }
}
