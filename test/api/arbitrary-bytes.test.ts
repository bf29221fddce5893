import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient } from '../support/client.ts'
import { useMeasuredServer } from '../support/held-loop.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { newEmail, PASSWORD } from '../support/people.ts'
import { type RawAnswer, type RawRequest, requestsTo, sendBytes, toBytes } from '../support/requests.ts'

/**
 * Other seeds, and more requests, find further faults: `SEED=7 REQUESTS=200 npx vitest run test/api/arbitrary-bytes`.
 */
const SEED = Number(process.env.SEED ?? 1)
/** Requests to each operation, and how many of them are in flight at once. */
const REQUESTS = Number(process.env.REQUESTS ?? 3)
const AT_ONCE = 4
/** Processor time between two turns of the event loop: during it everybody else waits. */
const MAX_HELD_MS = 250

/** Words of libraries that do not help a person. */
const INTERNAL =
  /✖|expected .* received|Invalid (input|discriminator)|incorrect header|unexpected end|FST_|\bat \w+ \(|node:/i

describe(`Arbitrary bytes to every operation of the interface (SEED=${SEED})`, () => {
  const { server, heldMs } = useMeasuredServer({ ALLOW_SIGNUP: 'true' })
  let caller: Client

  beforeAll(async () => {
    caller = await register()
  })

  /** The owner of a new organization: some requests sign out, or delete everything they may. */
  async function register(): Promise<Client> {
    const hub = { organizationName: 'Own', hubName: 'Hub', hubLat: 1, hubLng: 2 }
    const answer = await createClient(server, '').post('/auth/register', {
      name: 'Anna',
      email: newEmail(),
      password: PASSWORD,
      ...hub,
    })
    expect(answer.status).toBe(201)
    return createClient(server, answer.body.token)
  }

  /** The fault of an answer, or null. */
  function findFault(answer: RawAnswer | null): string | null {
    if (!answer) return 'no answer'
    const { status, head, body } = answer
    if (status >= 500) return `${status} ${body.slice(0, 300)}`
    if (status < 400) return null
    let failure: { status?: unknown; message?: unknown; requestId?: unknown; errors?: unknown[] }
    try {
      failure = JSON.parse(body)
    } catch {
      return `${status} without the envelope: ${body.slice(0, 300)}`
    }
    const { message, requestId, errors = [] } = failure
    const whole = failure.status === false && typeof requestId === 'string'
    if (!whole || typeof message !== 'string' || !message.endsWith('.'))
      return `${status} ${body.slice(0, 300)}`
    if (errors.length > 100) return `${errors.length} errors`
    if (INTERNAL.test(body)) return `${status} in the words of a library: ${body.slice(0, 500)}`
    if (status === 401 && !/^www-authenticate: /im.test(head)) return '401 without WWW-Authenticate'
    if (status === 405 && !/^allow: /im.test(head)) return '405 without Allow'
    return null
  }

  const seen = new Map<number, number>()

  async function sendAll(requests: readonly RawRequest[]): Promise<string[]> {
    const faults: string[] = []
    const left = [...requests]
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let request = left.shift(); request; request = left.shift()) {
          const answer = await sendBytes(server.url, toBytes(request))
          if (answer) seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
          const fault = findFault(answer)
          if (fault) {
            const { method, target, headers, body } = request
            const shown = `${headers.filter(one => !/bearer/i.test(one)).join(' | ')} ${body.toString('latin1', 0, 200)}`
            faults.push(`${method} ${target.slice(0, 200)} ${shown}: ${fault}`)
          }
        }
      }),
    )
    return faults
  }

  it('are answered in the envelope and never with 5xx, and keep nobody else waiting', {
    timeout: 480_000,
  }, async () => {
    const operations = listOperations(await readDocument(server))
    const faults: string[] = []
    const stalls: string[] = []
    for (const [index, operation] of operations.entries()) {
      const requests = fc.sample(requestsTo(operation, caller.token), {
        seed: SEED + index,
        numRuns: REQUESTS,
      })
      const held = await heldMs(MAX_HELD_MS, async () => faults.push(...(await sendAll(requests))))
      if (held >= MAX_HELD_MS) stalls.push(`${operation.name}: ${Math.round(held)} ms`)
      if ((await caller.get('/user')).status === 401) caller = await register()
    }
    expect([...new Set(faults)]).toEqual([])
    expect(stalls).toEqual([])
    expect(process.kill(server.pid, 0)).toBe(true)
    // The requests reach the routes, and every kind of rejection occurs.
    expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 404, 413, 415]))
    expect(server.output.stderr).not.toMatch(/"level":(50|60)/)
  })

  it('that are no HTTP, or half of it, end with an envelope or with the connection', async () => {
    const valid = toBytes({
      method: 'POST',
      target: '/api/v3/hub',
      headers: [
        `Authorization: Bearer ${caller.token}`,
        'Content-Type: application/json',
        'Content-Length: 31',
      ],
      body: Buffer.from('{"name":"Hub","lat":1,"lng":2} '),
    })
    const changes = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    const attack = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 500 }).map(bytes => Buffer.from(bytes)),
      changes.map(places => {
        const bytes = Buffer.from(valid)
        for (const [at, value] of places) bytes[at] = value
        return bytes
      }),
      fc.nat(valid.length).map(length => valid.subarray(0, length)),
      fc
        .tuple(fc.nat(valid.length), fc.uint8Array({ maxLength: 60 }))
        .map(([at, bytes]) => Buffer.concat([valid.subarray(0, at), bytes, valid.subarray(at)])),
    )
    const faults: string[] = []
    const all = fc.sample(attack, { seed: SEED, numRuns: 200 })
    const held = await heldMs(MAX_HELD_MS, async () => {
      const attacks = [...all]
      while (attacks.length > 0) {
        await Promise.all(
          attacks.splice(0, 20).map(async bytes => {
            const answer = await sendBytes(server.url, bytes, true)
            // Half a request ends with its connection.
            const fault = answer && findFault(answer)
            if (fault) faults.push(`${JSON.stringify(bytes.toString('latin1'))}: ${fault}`)
          }),
        )
      }
    })
    expect(faults).toEqual([])
    expect(held).toBeLessThan(MAX_HELD_MS)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(server.output.stderr).not.toMatch(/"level":(50|60)/)
  })
})
