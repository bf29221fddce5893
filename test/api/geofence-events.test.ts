import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { until } from '../support/wait.ts'

const BEGIN = Date.now() - 3 * 3_600_000
const CIRCLE = { type: 'circle', center: { lat: 52.52, lng: 13.405 }, radius: 150 }
const INSIDE = { lat: 52.5201, lng: 13.4051 }
const OUTSIDE = { lat: 52.53, lng: 13.405 }

type Event = Record<'_id' | 'geofenceId' | 'subjectId' | 'event' | 'at', string> & { retracted: boolean }

describe('Geofence events', () => {
  const { server } = useServer({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  let owner: Client
  let hubId: string
  let receiver: Receiver

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    hubId = await addHub(owner)
    receiver = await startReceiver()
  })
  afterAll(() => receiver?.close())
  // All of them are in the same place.
  afterEach(async () => {
    for (const { _id } of (await owner.get('/geofences')).body.data) await owner.delete(`/geofence/${_id}`)
  })

  const addFence = async (more: object = {}): Promise<string> => {
    const { status, body } = await owner.post('/geofence', { name: 'Depot', shape: CIRCLE, ...more })
    expect(status).toBe(201)
    return body.data._id
  }
  const at = (minute: number) => new Date(BEGIN + minute * 60_000).toISOString()
  const send = async (device: TestDevice, ...points: [minute: number, place: object][]): Promise<void> => {
    const { status } = await createClient(server, device.key).post('/location-history/bulk', {
      points: points.map(([minute, place]) => ({ ...place, timestamp: at(minute) })),
    })
    expect(status).toBe(200)
  }
  const list = async (query: string, client = owner): Promise<Event[]> =>
    (await client.get(`/geofence-events?${query}`)).body.data
  const brief = (events: Event[]) =>
    events.map(event => [event.event, event.at, ...(event.retracted ? ['retracted'] : [])])
  async function untilTold(query: string, expected: string[][], client = owner): Promise<void> {
    await until(
      'it is told',
      async () => JSON.stringify(brief(await list(query, client))) === JSON.stringify(expected),
    )
  }

  it('are one for each crossing, with the first fix inside or outside, newest first', async () => {
    const geofenceId = await addFence()
    const device = await createDevice(owner)
    await send(device, [0, OUTSIDE], [1, INSIDE], [2, INSIDE])
    await untilTold(`geofenceId=${geofenceId}`, [['entered', at(1)]])
    await send(device, [3, OUTSIDE], [2, INSIDE])
    const told = [['left', at(3)], ['entered', at(1)]] // biome-ignore format: one list
    await untilTold(`geofenceId=${geofenceId}`, told)
    const [left] = await list(`geofenceId=${geofenceId}&subjectId=${device.id}&from=${at(2)}`)
    expect(left).toEqual({
      _id: expect.any(String),
      geofenceId,
      subjectId: device.id,
      subjectType: 'device',
      event: 'left',
      at: at(3),
      ...OUTSIDE,
      retracted: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(brief(await list(`geofenceId=${geofenceId}&to=${at(3)}`))).toEqual([['entered', at(1)]])
    const page = (await owner.get(`/geofence-events?geofenceId=${geofenceId}&limit=1`)).body
    expect(page.pagination).toMatchObject({ total: 2, nextCursor: expect.any(String) })
    const rest = await list(`geofenceId=${geofenceId}&limit=1&cursor=${page.pagination.nextCursor}`)
    expect(brief([...page.data, ...rest])).toEqual(told)
    expect(brief(await list(`geofenceId=${geofenceId}&sort=at`))).toEqual(told.toReversed())
    expect(await list(`geofenceId=none`)).toEqual([])
    expect((await owner.get('/geofence-events?fence=1')).status).toBe(400)
  })

  it('need a fix before: where somebody is first seen is no crossing', async () => {
    const geofenceId = await addFence()
    const device = await createDevice(owner)
    await send(device, [0, INSIDE], [1, INSIDE], [2, OUTSIDE])
    await untilTold(`geofenceId=${geofenceId}`, [['left', at(2)]])
    // A late point shows that it had been outside.
    await send(device, [-1, OUTSIDE])
    await untilTold(`geofenceId=${geofenceId}`, [['left', at(2)], ['entered', at(0)]]) // biome-ignore format: one list
  })

  it('that late points refute stay, retracted; webhooks and watchers are told of each change', async () => {
    const geofenceId = await addFence()
    const made = await owner.post('/webhook', {
      url: `${receiver.url}/crossings`,
      events: ['geofence-entered', 'geofence-left'],
    })
    expect(made.status).toBe(201)
    const screen = await openScreen(server, owner.token)
    await watch(screen)
    const device = await createDevice(owner)
    const query = `geofenceId=${geofenceId}&sort=at`
    await send(device, [0, OUTSIDE], [10, INSIDE])
    await untilTold(query, [['entered', at(10)]])
    await send(device, [5, INSIDE])
    await untilTold(query, [['entered', at(5)], ['entered', at(10), 'retracted']]) // biome-ignore format: one list
    await send(device, [7, OUTSIDE])
    await untilTold(query, [['entered', at(5)], ['left', at(7)], ['entered', at(10)]]) // biome-ignore format: one list
    const expected = [
      ['entered', at(10), false],
      ['entered', at(10), true],
      ['entered', at(5), false],
      ['left', at(7), false],
      ['entered', at(10), false],
    ]
    const sorted = (told: Event[]) => told.map(one => [one.event, one.at, one.retracted].join()).sort()
    const all = expected.map(one => one.join()).sort()
    const posts = await receiver.wait('/crossings', expected.length)
    const bodies = posts.map(({ body }) => JSON.parse(body))
    expect(sorted(bodies)).toEqual(all)
    for (const { headers, body } of posts)
      expect(headers['webhook-event']).toBe(`geofence-${JSON.parse(body).event}`)
    const rows = await list(query)
    const ofFence = () => shown(screen).filter(one => one.geofenceId === geofenceId)
    // A screen gets the present state twice a second, not every state in between.
    const newest = () => [...new Map(ofFence().map(one => [one._id, one])).values()]
    await until('the screen was told', () => sorted(newest()).join() === sorted(rows).join())
    // Body, message and list show the same record.
    expect(bodies.find(({ event }) => event === 'left')).toEqual(rows[1])
    expect(ofFence().find(({ event }) => event === 'left')).toEqual(rows[1])
    const { _id } = made.body.data
    expect((await owner.get(`/webhook/${_id}/deliveries?limit=1`)).body.data).toMatchObject([
      { payload: { geofenceId, subjectId: device.id } },
    ])
    await owner.delete(`/webhook/${_id}`)
    screen.cut()
  })

  it('are seen, in lists and live, by who may see both the geofence and the subject', async () => {
    const other = await addHub(owner, 'Other')
    const open = await addFence({ hubId })
    const hidden = await addFence({ hubId: other })
    const { client } = await addPerson(server, owner, { hubId: [hubId] })
    const field = (await addPerson(server, owner, { role: 'Field user' })).client
    const screens = await Promise.all([openScreen(server, client.token), openScreen(server, field.token)])
    for (const screen of screens) await watch(screen)
    const [seen, unseen] = [await createDevice(owner), await createDevice(owner)]
    await owner.patch(`/device/${unseen.id}`, { hubId: other })
    for (const device of [unseen, seen]) await send(device, [0, OUTSIDE], [1, INSIDE])
    await untilTold(`geofenceId=${open},${hidden}`, Array(4).fill(['entered', at(1)]))
    const visible = await list(`geofenceId=${open},${hidden}`, client)
    expect(visible.map(({ geofenceId, subjectId }) => [geofenceId, subjectId])).toEqual([[open, seen.id]])
    expect((await field.get('/geofence-events')).status).toBe(403)
    const [ofHub, ofField] = screens as [TestScreen, TestScreen]
    const shownToHub = () => shown(ofHub).filter(({ subjectId }) => [seen.id, unseen.id].includes(subjectId))
    await until('the screen was told', () => shownToHub().some(({ geofenceId }) => geofenceId === open))
    expect(new Set(shownToHub().map(({ geofenceId, subjectId }) => `${geofenceId} ${subjectId}`))).toEqual(
      new Set([`${open} ${seen.id}`]),
    )
    expect(shown(ofField)).toEqual([])
    for (const screen of screens) screen.cut()
  })

  it('take view/location too, and a webhook of them a role that sees all of them', async () => {
    const permissions = ['view/geofence', 'view/webhook', 'create/webhook', 'update/webhook', 'view/data']
    const roleOf = async (...more: object[]) => {
      const permissionDetails = [...permissions.map(permissionName => ({ permissionName })), ...more]
      const made = await owner.post('/role', { name: `Role ${Math.random()}`, permissionDetails })
      expect(made.status).toBe(201)
      return made.body.data.name
    }
    const hook = { url: `${receiver.url}/none`, events: ['geofence-left'] }
    const blind = (await addPerson(server, owner, { role: await roleOf() })).client
    expect((await blind.get('/geofence-events')).status).toBe(403)
    expect((await blind.post('/webhook', hook)).status).toBe(403)
    expect((await blind.post('/webhook', { ...hook, events: ['data-source-created'] })).status).toBe(201)
    const webhookId = (await owner.post('/webhook', hook)).body.data._id
    const device = await createDevice(owner)
    await addFence()
    await send(device, [0, INSIDE], [1, OUTSIDE])
    const deliveries = async (client: Client) =>
      (await client.get(`/webhook/${webhookId}/deliveries`)).body.data as { payload: object }[]
    await until('a delivery', async () => (await deliveries(owner)).length > 0)
    expect((await deliveries(owner))[0]?.payload).toMatchObject({ subjectId: device.id })
    expect((await deliveries(blind))[0]?.payload).toEqual({})
    expect(
      (await blind.put(`/webhook/${webhookId}`, { ...hook, events: ['data-source-created'] })).status,
    ).toBe(403)
    await owner.delete(`/webhook/${webhookId}`)
  })

  it('go with their geofence', async () => {
    const geofenceId = await addFence({ hubId })
    const device = await createDevice(owner)
    await send(device, [0, OUTSIDE], [1, INSIDE])
    await untilTold(`geofenceId=${geofenceId}`, [['entered', at(1)]])
    await owner.delete(`/geofence/${geofenceId}`)
    expect(await list(`subjectId=${device.id}&geofenceId=${geofenceId}`)).toEqual([])
  })
})

async function watch(screen: TestScreen): Promise<void> {
  screen.send({ type: 'watch', topics: ['geofences'] })
  await until('an answer', () => screen.messages.some(({ type }) => type === 'watching'))
}

const shown = (screen: TestScreen): Event[] =>
  screen.messages
    .filter(({ type }) => type === 'geofence')
    .flatMap(message => (message as unknown as { events: Event[] }).events)
