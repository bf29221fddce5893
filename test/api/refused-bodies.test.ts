import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { addConnection, type TestConnection } from '../support/connections.ts'
import { useMeasuredServer } from '../support/held-loop.ts'
import { listOperations, type Operation, readDocument } from '../support/openapi.ts'
import { until } from '../support/wait.ts'

/** In milliseconds of processor time. `JSON.parse` takes ten times as long for 4 MiB of brackets. */
const MAX_HELD_MS = 100
const HALF = 2 * 1024 * 1024

/** What a request with points may hold is bounded before it is parsed, and what is refused is parsed by nobody. */
describe('A body of 4 MiB to an operation that takes points', () => {
  const { server, heldMs } = useMeasuredServer()
  let operations: Operation[]
  let device: TestDevice
  let connection: TestConnection
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
    device = await createDevice(owner)
    connection = await addConnection(owner, { kind: 'http' })
    operations = listOperations(await readDocument(server)).filter(
      ({ method, path }) => method === 'post' && /\/ingest\/|\/location-history/.test(path),
    )
    expect(operations.map(({ path }) => path)).toContain('/api/v3/ingest/connection/{id}')
    expect(operations.length).toBeGreaterThan(4)
  })

  it.each([
    ['brackets', `${'['.repeat(HALF)}${']'.repeat(HALF)}`],
    ['nested objects', '{"a":'.repeat((HALF * 2) / 5)],
    ['values', `[${Array(HALF - 2).fill(0)}]`],
  ])('holds up nobody: %s', async (_name, body) => {
    for (const { path } of operations) {
      const isTracker = path.includes('/connection/')
      const send = async () => {
        const answer = await fetch(`${server.url}${path.replace('{id}', connection._id)}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${isTracker ? connection.key : device.key}`,
            'content-type': 'application/json',
          },
          body,
        })
        await answer.arrayBuffer()
        expect([path, answer.status]).toEqual([path, expect.toSatisfy((status: number) => status < 500)])
      }
      await send()
      expect([path, await heldMs(MAX_HELD_MS, send)]).toEqual([
        path,
        expect.toSatisfy((ms: number) => ms < MAX_HELD_MS),
      ])
    }
  })

  it('that nests too deeply is a rejection of the connection, which says why', async () => {
    const answer = await fetch(`${server.url}/api/v3/ingest/connection/${connection._id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${connection.key}`, 'content-type': 'application/json' },
      body: '['.repeat(20_000) + ']'.repeat(20_000),
    })
    expect(answer.status).toBe(200)
    const newest = async () =>
      (await owner.get(`/connection/${connection._id}/messages`)).body.data[0]?.outcome
    await until('it is noted', async () =>
      /nested more than/.test((await newest())?.rejected[0]?.message ?? ''),
    )
  })
})
