import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { listenForCommands, readCommands, sendCommand, untilState } from '../support/commands.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { openScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('Commands to devices', () => {
  const { server, owner } = useOrganization()

  it('are made with a name, have a day, and are listed newest first', async () => {
    const device = await createDevice(owner)
    const begun = Date.now()
    const { status, body } = await owner.post(`/device/${device.id}/command`, { name: ' reportLocation ' })
    expect(status).toBe(201)
    expect(body.data).toEqual({
      ...{ _id: expect.any(String), deviceId: device.id, name: 'reportLocation', payload: null },
      ...{ state: 'queued', result: null, sentAt: null, receivedAt: null, finishedAt: null },
      ...{ expiresAt: expect.any(String), createdAt: expect.any(String), updatedAt: expect.any(String) },
    })
    const { createdAt, expiresAt } = body.data
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(24 * 3600_000)
    expect(Date.parse(createdAt)).toBeGreaterThan(begun - 60_000)
    const ids = [body.data._id]
    for (let n = 0; n < 3; n++) ids.unshift(await sendCommand(owner, device, { name: `Number ${n}` }))
    const listed = async (query: string) =>
      (await owner.get(`/device/${device.id}/commands?${query}`)).body.data.map(
        ({ _id }: { _id: string }) => _id,
      )
    expect(await listed('')).toEqual(ids)
    expect(await listed('state=queued&sort=createdAt')).toEqual(ids.toReversed())
    expect(await listed('state=done')).toEqual([])
    expect(await listed('search=number%201')).toEqual([ids[1]])
    const page = (await owner.get(`/device/${device.id}/commands?limit=3`)).body
    expect(page.pagination).toMatchObject({ total: 4, nextCursor: expect.any(String) })
    expect(await listed(`cursor=${page.pagination.nextCursor}`)).toEqual(ids.slice(3))
    expect((await owner.get(`/device/${device.id}/commands?state=lost`)).status).toBe(400)
  })

  it.each([
    [{}, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'x', payload: 'ä'.repeat(4_100) }, 'payload'],
    [{ name: 'x', expiresInSeconds: 0 }, 'expiresInSeconds'],
    [{ name: 'x', expiresInSeconds: 7 * 24 * 3600 + 1 }, 'expiresInSeconds'],
    [{ name: 'x', expiresInSeconds: 1.5 }, 'expiresInSeconds'],
    [{ name: 'x', state: 'done' }, 'state'],
  ])('are refused with wrong values: %j', async (body, path) => {
    const device = await createDevice(owner)
    const answer = await owner.post(`/device/${device.id}/command`, body)
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toMatchObject([{ path }])
  })

  it('are withdrawn while they wait, and not once they were sent', async () => {
    const device = await createDevice(owner)
    const id = await sendCommand(owner, device)
    expect((await owner.delete(`/device/${device.id}/command/${id}`)).body.data).toEqual({ _id: id })
    expect((await owner.delete(`/device/${device.id}/command/${id}`)).status).toBe(404)
    expect((await readCommands(owner, device)).size).toBe(0)

    const sent = await sendCommand(owner, device)
    const listener = await listenForCommands(server, device)
    await listener.wait(1)
    expect((await owner.delete(`/device/${device.id}/command/${sent}`)).status).toBe(409)
    await listener.answer(sent, { status: 'done' })
    expect((await owner.delete(`/device/${device.id}/command/${sent}`)).status).toBe(409)
    const other = await createDevice(owner)
    expect((await owner.delete(`/device/${other.id}/command/${sent}`)).status).toBe(404)
    await listener.cut()

    const { body } = await owner.get('/audit-log?limit=3&resource=command')
    expect(body.data).toMatchObject([
      { action: 'create', resourceId: sent, changes: { name: { to: 'blink' }, deviceId: { to: device.id } } },
      { action: 'delete', resourceId: id, changes: { name: { from: 'blink' } } },
      { action: 'create', resourceId: id },
    ])
  })

  it('wait at most a hundred at a time for a device', async () => {
    const device = await createDevice(owner)
    for (let n = 0; n < 100; n++) await sendCommand(owner, device)
    const { status, body } = await owner.post(`/device/${device.id}/command`, { name: 'one too many' })
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'too-many-records' })
    await sendCommand(owner, await createDevice(owner))
    const listener = await listenForCommands(server, device)
    await listener.wait(16)
    await sendCommand(owner, device)
    await listener.cut()
  })

  it('need the permission, and a device that the caller sees', async () => {
    const hubs = [await addHub(owner, 'North'), await addHub(owner, 'South')]
    const { body } = await owner.post('/device', { name: 'Northern', hubId: hubs[0] })
    const path = `/device/${body.data._id}/command`
    const statuses = async (client: Client) => [
      (await client.get(`${path}s`)).status,
      (await client.post(path, { name: 'x' })).status,
      (await client.delete(`${path}/019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70`)).status,
    ]
    const planner = await addPerson(server, owner, { role: 'Planner', hubId: [hubs[0] as string] })
    expect(await statuses(planner.client)).toEqual([200, 201, 404])
    const southern = await addPerson(server, owner, { role: 'Planner', hubId: [hubs[1] as string] })
    expect(await statuses(southern.client)).toEqual([404, 404, 404])
    const field = await addPerson(server, owner, { role: 'Field user' })
    expect(await statuses(field.client)).toEqual([403, 403, 403])
    const permissionDetails = [{ permissionName: 'view/command', scope: 'all' }]
    const role = await owner.post('/role', { name: 'Watches commands', permissionDetails })
    const viewer = await addPerson(server, owner, { roleId: role.body.data._id, hubId: [hubs[0] as string] })
    expect(await statuses(viewer.client)).toEqual([200, 403, 403])
    expect(await statuses(createClient(server, ''))).toEqual([401, 401, 401])
    await owner.delete(`/device/${body.data._id}`)
    expect(await statuses(owner)).toEqual([404, 404, 404])
  })
})

describe('What becomes of commands', () => {
  const { server } = useServer({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  let owner: Client
  let receiver: Receiver
  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    receiver = await startReceiver()
  })
  afterAll(() => receiver?.close())

  it('is told to webhooks, once at the end of each', async () => {
    const hook = { url: `${receiver.url}/ends`, events: ['command-finished'] }
    expect((await owner.post('/webhook', hook)).status).toBe(201)
    const device = await createDevice(owner)
    const listener = await listenForCommands(server, device)
    const [done, failed] = [await sendCommand(owner, device), await sendCommand(owner, device)]
    await listener.wait(2)
    const expired = await sendCommand(owner, device, { expiresInSeconds: 1 })
    await listener.answer(done, { status: 'done', result: 1 })
    await listener.answer(done, { status: 'failed', result: 2 })
    await listener.answer(failed, { status: 'failed', result: 3 })
    await untilState(owner, device, expired, 'expired')
    const received = (await receiver.wait('/ends', 3)).map(({ body }) => JSON.parse(body))
    const commands = await readCommands(owner, device)
    // Deliveries that are due together may arrive in any order.
    expect(received).toHaveLength(3)
    expect(received).toEqual(expect.arrayContaining([done, failed, expired].map(id => commands.get(id))))
    expect(receiver.at('/ends')[0]?.headers['webhook-event']).toBe('command-finished')
    await listener.cut()
  })

  it('is told to webhooks of those alone who see the commands of all devices', async () => {
    const hub = await addHub(owner)
    const permissionDetails = (names: string[]) =>
      names.map(permissionName => ({ permissionName, scope: 'all' }))
    const names = ['view/data', 'create/webhook', 'view/webhook']
    const post = async (own: string[], hubId?: string[]) => {
      const role = await owner.post('/role', {
        name: `Hooks ${own} ${hubId}`,
        permissionDetails: permissionDetails([...names, ...own]),
      })
      const { client } = await addPerson(server, owner, {
        roleId: role.body.data._id,
        ...(hubId && { hubId }),
      })
      return client.post('/webhook', { url: `${receiver.url}/none`, events: ['command-finished'] })
    }
    expect((await post([])).status).toBe(403)
    expect((await post(['view/command'], [hub])).status).toBe(403)
  })

  it('is told to those who watch, as long as they see the device', async () => {
    const hub = await addHub(owner)
    const { body } = await owner.post('/device', { name: 'Here', hubId: hub })
    const device = { id: body.data._id as string, key: body.data.key as string }
    const here = await addPerson(server, owner, { role: 'Planner', hubId: [hub] })
    const there = await addPerson(server, owner, { role: 'Planner', hubId: [await addHub(owner)] })
    const field = await addPerson(server, owner, { role: 'Field user', hubId: [hub] })
    const screens = await Promise.all(
      [here, there, field].map(async ({ client }) => {
        const screen = await openScreen(server, client.token)
        screen.send({ type: 'watch', topics: ['commands'] })
        await until('it watches', () => screen.messages.some(({ type }) => type === 'watching'))
        return screen
      }),
    )
    expect(screens.map(({ messages }) => messages.find(({ type }) => type === 'watching'))).toMatchObject([
      { topics: ['commands'] },
      { topics: ['commands'] },
      { topics: [] },
    ])
    type Told = { type: string; deleted?: boolean; command: { _id: string; state?: string } }
    const told = (n: number) =>
      (screens.map(({ messages }) => messages as Told[])[n] ?? []).filter(({ type }) => type === 'command')
    const withdrawn = await sendCommand(owner, device)
    await until('it is told', () => told(0).some(({ command }) => command.state === 'queued'))
    await owner.delete(`/device/${device.id}/command/${withdrawn}`)
    await until('its withdrawal is told', () => told(0).at(-1)?.deleted === true)
    expect(told(0).at(-1)?.command).toEqual({ _id: withdrawn, deleted: true })
    const id = await sendCommand(owner, device)
    const listener = await listenForCommands(server, device)
    await listener.wait(1)
    await listener.answer(id, { status: 'done', result: 'ok' })
    await until('its end is told', () => told(0).some(({ command }) => command.state === 'done'))
    expect(told(0).at(-1)?.command).toEqual((await readCommands(owner, device)).get(id))
    expect([told(1), told(2)]).toEqual([[], []])
    await listener.cut()
    for (const screen of screens) screen.cut()
  })
})
