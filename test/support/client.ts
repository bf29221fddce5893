import { Agent, request } from 'undici'
import { FAILURES, type FailureCode, FIELD_ERRORS } from '../../src/http/error-codes.ts'
import { noteSent } from './log-search.ts'
import { OWNER, type Server } from './server.ts'
import { until } from './wait.ts'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely, an absent field fails the expectation
  body: any
  headers: Pick<Headers, 'get'>
}

/** Not `fetch`, which takes four times the processor time: 0.4 ms a request instead of 0.1. */
const dispatcher = new Agent({
  // A machine that stands still for the usual 10 s has refused nothing, nor has a server that 1,000 others call.
  connectTimeout: 120_000,
})

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A client of the REST interface with one token. */
export interface Client {
  token: string
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  put(path: string, body: unknown): Promise<Answer>
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  delete(path: string, body?: unknown): Promise<Answer>
}

/**
 * Every failure in the envelope has a code of the closed list that belongs to its status, and so has each of its
 * errors.
 */
function checkCodes({ status, body }: Answer): void {
  if (body?.status !== false) return
  const { code, errors = [] } = body
  const isKnown = Object.hasOwn(FAILURES, code) && FAILURES[code as FailureCode].status === status
  const unknown = errors.filter((error: { code: string }) => !Object.hasOwn(FIELD_ERRORS, error.code))
  if (!isKnown || unknown.length > 0 || (code === 'invalid-input' && errors.length === 0))
    throw new Error(`A failure without its code: ${status} ${JSON.stringify(body)}`)
}

export function createClient(server: Pick<Server, 'url'>, token: string): Client {
  const send = async (method: Method, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    noteSent(path, body)
    const response = await request(`${server.url}/api/v3${path}`, {
      dispatcher,
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.body.text()
    const get = (name: string) => response.headers[name.toLowerCase()]?.toString() ?? null
    const isJson = get('content-type')?.includes('json')
    const answer = { status: response.statusCode, body: isJson ? JSON.parse(text) : text, headers: { get } }
    checkCodes(answer)
    return answer
  }
  return {
    token,
    get: path => send('GET', path),
    post: (path, body, headers) => send('POST', path, body, headers),
    put: (path, body) => send('PUT', path, body),
    patch: (path, body, headers) => send('PATCH', path, body, headers),
    delete: (path, body) => send('DELETE', path, body),
  }
}

/** Signs in; by default as the first owner. */
export async function signIn(
  server: Pick<Server, 'url'>,
  credentials: { email: string; password: string; organizationId?: string } = OWNER,
): Promise<Client> {
  const { email, password, organizationId } = credentials
  const answer = await createClient(server, '').post('/auth/login', { email, password, organizationId })
  if (answer.status !== 200) throw new Error(`Signing in failed: ${JSON.stringify(answer.body)}`)
  return createClient(server, answer.body.token)
}

export interface TestDevice {
  id: string
  key: string
}

export async function createDevice(client: Client, name = 'Tracker'): Promise<TestDevice> {
  const answer = await client.post('/device', { name })
  if (answer.status !== 201) throw new Error(`Making a device failed: ${JSON.stringify(answer.body)}`)
  return { id: answer.body.data._id, key: answer.body.data.key }
}

/** Sends points in one request, again and again while a slow machine does not store them in its time. Returns the answer. */
export async function sendPoints(client: Client, points: readonly object[]): Promise<Answer> {
  let answer = await client.post('/location-history/bulk', { points })
  await until('the points are taken', async () => {
    if (answer.status === 503) answer = await client.post('/location-history/bulk', { points })
    return answer.status !== 503
  })
  if (answer.status !== 200) throw new Error(`Sending points failed: ${JSON.stringify(answer.body)}`)
  return answer
}

/** All points of a device in order of time, including anomalies. */
// biome-ignore lint/suspicious/noExplicitAny: as in Answer
export async function readHistory(client: Client, deviceId: string): Promise<any[]> {
  const answer = await client.get(
    `/location-histories?deviceId=${deviceId}&limit=100000&includeAnomalies=true`,
  )
  if (answer.status !== 200) throw new Error(`Reading the history failed: ${JSON.stringify(answer.body)}`)
  return answer.body.data
}

/** The newest stored point of each subject. */
export async function readNewest(client: Client): Promise<Map<string, { timestamp: string; lat: number }>> {
  const answer = await client.get('/location-histories?limit=1000')
  if (answer.status !== 200) throw new Error(`Reading the newest failed: ${JSON.stringify(answer.body)}`)
  const points: { subjectId: string; timestamp: string; lat: number }[] = answer.body.data
  return new Map(points.map(point => [point.subjectId, point]))
}
