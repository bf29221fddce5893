import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AddedPoint, Fieldline, type FieldlineError } from '#client'
import { createDevice, readHistory } from '../../support/client.ts'
import { BAD_WEATHER, type NetworkProxy, startProxy } from '../../support/proxy.ts'
import { useOrganization } from '../../support/shared-server.ts'
import { until } from '../../support/wait.ts'

const BEGUN = Date.now() - 3_600_000
const pointAt = (n: number): AddedPoint => ({
  lat: 52 + n / 10_000,
  lng: 13,
  timestamp: new Date(BEGUN + n * 1_000).toISOString(),
  attributes: { n },
})
const points = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => pointAt(from + n))
const numbersOf = (history: { attributes: { n: number } }[]) => history.map(({ attributes }) => attributes.n)

describe('The sender of the TypeScript client', () => {
  const { server, owner } = useOrganization()
  let network: NetworkProxy
  const senderOf = (token: string) =>
    new Fieldline({
      ...{ baseUrl: `http://127.0.0.1:${network.port}`, token },
      ...{ answerWithinMs: 1_000, retryForMs: 1_000 },
    })
  /** A request that is given up and sent again is answered with duplicates: here none is, however slow the machine is. */
  const patientOf = (token: string) =>
    new Fieldline({ baseUrl: `http://127.0.0.1:${network.port}`, token, answerWithinMs: 120_000 })
  beforeAll(async () => {
    network = await startProxy(() => Number(new URL(server.url).port), { noticedAfterMs: 100 })
  })
  afterAll(() => network.close())

  it('has every point in the history once, whatever the network does', async () => {
    const device = await createDevice(owner)
    const bulk = senderOf(device.key).bulk({ batch: 20 })
    let sent = 0
    for (const weather of BAD_WEATHER) {
      network.set(weather)
      const retried = new Promise<void>(resolve => setTimeout(resolve, 300))
      bulk.add(...points(sent, sent + 60))
      sent += 60
      await retried
      network.set('clear')
    }
    const report = await bulk.flush()
    expect(bulk.waiting).toEqual([])
    expect(report.accepted + report.duplicates).toBe(sent)
    expect(numbersOf(await readHistory(owner, device.id))).toEqual([...Array(sent).keys()])
  })

  it('keeps what is not acknowledged, for the next sender', async () => {
    const device = await createDevice(owner)
    const first = senderOf(device.key).bulk({ batch: 10 })
    first.add(...points(0, 10))
    await first.flush()
    network.set('requests lost')
    first.add(...points(10, 30))
    await first.close()
    expect(first.waiting).toHaveLength(20)
    network.set('clear')
    const saved = JSON.parse(JSON.stringify(first.waiting))
    const next = senderOf(device.key).bulk({ points: saved })
    await next.flush()
    expect(numbersOf(await readHistory(owner, device.id))).toEqual([...Array(30).keys()])
  })

  it('names the points that are refused for good, also where all of them are, and sends the others', async () => {
    const device = await createDevice(owner)
    const refused: [unknown, string][] = []
    const bulk = patientOf(device.key).bulk({
      batch: 2,
      onRejected: (point, { reason }) => refused.push([point.attributes?.n, reason]),
    })
    const wrong = (n: number) => ({ ...pointAt(n), lat: 91 })
    bulk.add(pointAt(0), wrong(1), wrong(2), wrong(3), pointAt(4))
    expect(await bulk.flush()).toEqual({ accepted: 2, duplicates: 0, rejected: 3 })
    expect(refused).toEqual([1, 2, 3].map(n => [n, 'bad-coordinates']))
    expect(numbersOf(await readHistory(owner, device.id))).toEqual([0, 4])
  })

  it('sends smaller requests where one is too large', async () => {
    const device = await createDevice(owner)
    const bulk = patientOf(device.key).bulk({ batch: 5_000 })
    const note = 'x'.repeat(2_000)
    bulk.add(...points(0, 3_000).map(point => ({ ...point, attributes: { ...point.attributes, note } })))
    expect(await bulk.flush()).toMatchObject({ accepted: 3_000, rejected: 0 })
  })

  it('takes an answer that is cut off, or another program’s, for none, and keeps the points', async () => {
    const answers = ['{"status":true,"da', '<h1>Sign in to this network</h1>', '{"status":true,"data":{}}']
    const other = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answers.shift() ?? '{}')
    }).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const failures: unknown[] = []
    const bulk = new Fieldline({ baseUrl: `http://127.0.0.1:${port}`, token: 'x' }).bulk({
      onRetry: error => failures.push((error as FieldlineError).code),
    })
    bulk.add(pointAt(0))
    await until('each was an answer', () => failures.length >= 3)
    expect(failures.slice(0, 3)).toEqual(['unreachable', 'unreachable', 'unreachable'])
    expect(bulk.waiting).toHaveLength(1)
    await bulk.close()
    other.closeAllConnections()
    other.close()
  })

  it('says that it is refused, and keeps the points', async () => {
    const device = await createDevice(owner)
    await owner.delete(`/device/${device.id}`)
    const bulk = senderOf(device.key).bulk()
    bulk.add(pointAt(0))
    await expect(bulk.flush()).rejects.toMatchObject({ status: 401 })
    expect(bulk.waiting).toHaveLength(1)
  })

  it('takes no more than may wait', async () => {
    const bulk = new Fieldline({ baseUrl: 'http://127.0.0.1:9', token: 'x' }).bulk({ maxWaiting: 3 })
    bulk.add(...points(0, 3))
    expect(() => bulk.add(pointAt(3))).toThrow('3 points wait already; 1 more find no room.')
    await bulk.close()
    expect(bulk.waiting).toHaveLength(3)
  })
})
