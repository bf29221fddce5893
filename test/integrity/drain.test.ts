import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import WebSocket from 'ws'
import { closeEvenly, drain } from '../../ingest/drain.ts'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, type Kind, postgresMissing, type TestDatabase } from '../support/database.ts'
import { startTestKafka, type TestKafka } from '../support/kafka.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen, upgradeStatus } from '../support/screen.ts'
import { openServer, type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const REQUESTS = 20
const TIERS: { tier: string; kind: Kind; kafka: boolean }[] = [
  { tier: 'embedded', kind: 'pglite', kafka: false },
  { tier: 'one machine', kind: 'postgres', kafka: false },
  { tier: 'cluster', kind: 'postgres', kafka: true },
]

describe.each(TIERS)('A server that is told to stop, $tier', ({ kind, kafka: hasKafka }) => {
  let kafka: TestKafka | undefined
  let database: TestDatabase | undefined
  afterEach(async () => {
    await database?.remove()
    await kafka?.stop()
  })

  it('finishes and answers every request under way, acknowledges what it has read, and then closes', async context => {
    if (hasKafka) kafka = await startTestKafka()
    const missing = kafka?.missing ?? (kind === 'postgres' ? postgresMissing() : undefined)
    if (missing) return context.skip(missing)
    database = await createTestDatabase(kind)
    const env: Record<string, string> = kafka ? { KAFKA_BROKERS: kafka.brokers.join() } : {}
    const server = await startServer(database, env)
    const owner = await signIn(server)
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token)
    const client = await connectDevice(server, device)
    const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
    // Two points of one time are the same point.
    const now = Date.now()
    const point = (index: number) => ({ lat: 1, lng: 2, timestamp: now - 1_000 - index })
    await publish(client, device, point(0))

    // Half of each request is sent, on a connection that has had an answer before.
    const agent = new Agent({ keepAlive: true, maxSockets: REQUESTS })
    const headers = { authorization: `Bearer ${owner.token}` }
    await Promise.all(Array.from({ length: REQUESTS }, () => ask(server, '/api/v3/user', agent, headers)))
    const bodies = Array.from({ length: REQUESTS }, (_, index) =>
      index % 2 === 0
        ? { path: '/api/v3/hub', body: { name: `Hub ${index}`, lat: 1, lng: 2 } }
        : { path: '/api/v3/location-history/bulk', body: { points: [point(index)] } },
    ).map(({ path, body }) => ({ path, body: JSON.stringify(body) }))
    const halves = bodies.map(({ path, body }, index) => {
      const sent = request(`${server.url}${path}`, {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${index % 2 === 0 ? owner.token : device.key}`,
          'content-type': 'application/json',
          'content-length': body.length,
        },
      })
      sent.write(body.slice(0, 10))
      return { sent, answer: readAnswer(sent), rest: body.slice(10) }
    })
    // Requests of one event loop are handled in turn: when this one is answered, their heads have been read.
    await ask(server, '/health')

    const ended = server.stop()
    await until('it says that it stops', async () => (await ask(server, '/ready')).status === 503)
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live`, { headers })
    expect(await upgradeStatus(socket)).toBe(503)
    for (const { sent, rest } of halves) sent.end(rest)
    const answers = await Promise.all(halves.map(({ answer }) => answer))
    expect(answers.map(({ status }) => status)).toEqual(
      answers.map((_, index) => (index % 2 === 0 ? 201 : 200)),
    )
    expect(answers.every(answer => answer.headers.connection === 'close')).toBe(true)
    expect((await screen.closed).code).toBe(1001)
    await closed
    expect(await ended).toBe(0)
    agent.destroy()

    const again = await openServer(database, env)
    const hubs = await (await signIn(again)).get('/hubs?limit=100')
    expect(hubs.body.data).toHaveLength(REQUESTS / 2)
    await until('every point is there', async () => {
      const points = await readHistory(await signIn(again), device.id)
      return points.length === 1 + REQUESTS / 2
    })
    await again.stop()
  })
})

it('A connection that was accepted while the last one ended has its requests answered', async () => {
  let left = 0
  const deeds: string[] = []
  const part = {
    begin: () => [],
    stopListening() {
      deeds.push('listens no more')
      left = 1
      setTimeout(() => {
        left = 0
        deeds.push('the last one ends')
      }, 50)
    },
    remaining: () => left,
  }
  await drain([part], 60_000)
  expect(deeds).toEqual(['listens no more', 'the last one ends'])
})

describe('Connections that stay', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    { count: 10_000, withinMs: 10_000 },
    { count: 40, withinMs: 10_000 },
    { count: 1, withinMs: 0 },
    { count: 0, withinMs: 10_000 },
  ])('$count are closed at an even rate within $withinMs ms', async ({ count, withinMs }) => {
    vi.useFakeTimers()
    const closedAt: number[] = []
    const begun = performance.now()
    const endings = Array.from({ length: count }, () => () => void closedAt.push(performance.now() - begun))
    const done = closeEvenly(endings, withinMs)
    await vi.advanceTimersByTimeAsync(withinMs + 100)
    await done
    expect(closedAt).toHaveLength(count)
    expect(closedAt.filter(ms => ms > withinMs)).toEqual([])
    // At most twice its share ends in a tenth of a second, or four.
    const mostInATenth = Math.max(4, (2 * count * 100) / Math.max(withinMs, 100))
    for (let tenth = 0; tenth < withinMs / 100; tenth++) {
      const inIt = closedAt.filter(ms => Math.floor(ms / 100) === tenth)
      expect(inIt.length).toBeLessThanOrEqual(mostInATenth)
    }
  })
})

function ask(
  server: Pick<ServerProcess, 'url'>,
  path: string,
  agent?: Agent,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: IncomingMessage['headers'] }> {
  const sent = request(`${server.url}${path}`, { ...(agent && { agent }), headers })
  sent.end()
  return readAnswer(sent)
}

async function readAnswer(
  sent: ClientRequest,
): Promise<{ status: number; headers: IncomingMessage['headers'] }> {
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  return { status: answer.statusCode ?? 0, headers: answer.headers }
}
