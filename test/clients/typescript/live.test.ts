import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fieldline, type LiveMessage } from '#client'
import { addApiKey } from '../../support/api-keys.ts'
import { createClient, createDevice, type TestDevice } from '../../support/client.ts'
import { addPerson } from '../../support/people.ts'
import { type NetworkProxy, startProxy } from '../../support/proxy.ts'
import { useOrganization } from '../../support/shared-server.ts'
import { until } from '../../support/wait.ts'

describe('The live socket of the TypeScript client', () => {
  const { server, owner } = useOrganization()
  let network: NetworkProxy
  let sent = 0
  const clientOf = (token: string) => new Fieldline({ baseUrl: `http://127.0.0.1:${network.port}`, token })
  const send = async (device: TestDevice, lat: number) => {
    const point = { lat, lng: 13, timestamp: new Date(Date.now() - 60_000 + ++sent).toISOString() }
    const { status } = await createClient(server, device.key).post('/location-history/bulk', {
      points: [point],
    })
    expect(status).toBe(200)
  }
  /** Reads in the background; `at` is the newest latitude of each subject. */
  function follow(client: Fieldline, options: Parameters<Fieldline['live']>[0] = {}) {
    const stop = new AbortController()
    const at = new Map<string, number>()
    const seen: LiveMessage[] = []
    const read = async () => {
      for await (const message of client.live({ ...options, signal: stop.signal })) {
        seen.push(message)
        if (message.type === 'snapshot') at.clear()
        if (message.type === 'snapshot' || message.type === 'positions')
          for (const { subjectId, lat } of message.positions) at.set(subjectId, lat)
      }
    }
    const ended = read()
    ended.catch(() => {})
    return { at, seen, ended, stop: () => stop.abort() }
  }
  beforeAll(async () => {
    network = await startProxy(() => Number(new URL(server.url).port), { noticedAfterMs: 100 })
  })
  afterAll(() => network.close())

  it('goes on at its cursor after a lost connection, and misses nothing', async () => {
    const [van, bus] = [await createDevice(owner), await createDevice(owner)]
    await send(van, 52)
    let lost = 0
    const screen = follow(clientOf(owner.token), { onLost: () => lost++ })
    await until('the first position is there', () => screen.at.get(van.id) === 52)
    network.set('reset')
    await until('the connection is lost', () => lost > 0)
    await send(van, 53)
    await send(bus, 54)
    network.set('clear')
    await until('both are there', () => screen.at.get(van.id) === 53 && screen.at.get(bus.id) === 54)
    const types = screen.seen.map(({ type }) => type)
    expect(types.filter(type => type === 'snapshot')).toHaveLength(1)
    screen.stop()
    await screen.ended

    const cursor = screen.seen.flatMap(message => ('cursor' in message ? [message.cursor] : [])).at(-1)
    await send(bus, 55)
    const next = follow(clientOf(owner.token), { since: cursor })
    await until('it resumes', () => next.at.get(bus.id) === 55)
    expect(next.seen[0]?.type).toBe('positions')
    next.stop()
    await next.ended
  })

  it('gives a slow reader the newest position of each, and not a queue', async () => {
    const device = await createDevice(owner)
    await send(device, 10)
    const filter = { subjectIds: [device.id] }
    const reader = clientOf(owner.token).live({ filter })
    expect((await reader.next()).value).toMatchObject({ type: 'snapshot', positions: [{ lat: 10 }] })
    const watcher = follow(clientOf(owner.token), { filter })
    for (let lat = 11; lat <= 15; lat++) {
      await send(device, lat)
      await until('it was sent', () => watcher.at.get(device.id) === lat)
    }
    watcher.stop()
    let taken = 0
    for await (const message of reader) {
      taken++
      if (message.type === 'positions' && message.positions[0]?.lat === 15) break
    }
    expect(taken).toBeLessThan(5)
  })

  it('tells changes of topics, and after a lost connection that they are watched anew', async () => {
    let lost = 0
    const screen = follow(clientOf(owner.token), { watch: ['tasks'], onLost: () => lost++ })
    const watching = () => screen.seen.filter(({ type }) => type === 'watching').length
    await until('it watches', () => watching() === 1)
    const { _id } = (await owner.post('/task', { name: 'Deliver' })).body.data
    const tells = () => screen.seen.some(message => message.type === 'task' && message.task._id === _id)
    await until('the task is told', tells)
    network.set('reset')
    await until('the connection is lost', () => lost > 0)
    network.set('clear')
    // One that was opened before the network was clear may be lost as well.
    await until('it watches again', () => watching() >= 2)
    screen.stop()
    await screen.ended
  })

  it('ends with the reason where the token is refused, ends, or may not see positions', async () => {
    const wrong = follow(clientOf('flk_nobody'))
    await expect(wrong.ended).rejects.toMatchObject({ status: 401 })

    const { client, id, key } = await addApiKey(server, owner, { role: 'Admin' })
    expect((await client.get('/user')).status).toBe(200)
    const program = follow(clientOf(key))
    await until('it is connected', () => program.seen.length > 0)
    await owner.delete(`/api-key/${id}`)
    await expect(program.ended).rejects.toMatchObject({ status: 401 })

    const role = await owner.post('/role', { name: 'Sees nothing', permissionDetails: [] })
    const person = await addPerson(server, owner, { roleId: role.body.data._id })
    const blind = follow(clientOf(person.client.token))
    await expect(blind.ended).rejects.toMatchObject({ status: 403 })
    const details = [{ permissionName: 'view/task' }]
    const planner = await owner.post('/role', { name: 'Sees tasks', permissionDetails: details })
    const other = await addPerson(server, owner, { roleId: planner.body.data._id })
    const unseeing = follow(clientOf(other.client.token))
    await expect(unseeing.ended).rejects.toMatchObject({ code: 'refused' })
  })
})
