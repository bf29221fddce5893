import { describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import {
  type CommandListener,
  type Heard,
  listenForCommands,
  readCommands,
  sendCommand,
  untilState,
} from '../support/commands.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { publishPacket, unsubscribePacket } from './raw.ts'

describe('Commands', () => {
  const { server, owner } = useOrganization()
  const told = (heard: readonly Heard[]) => heard.map(({ id, dup }) => (dup ? `${id} again` : id))
  const rejections = ({ raw }: CommandListener) =>
    raw.packets.flatMap(one =>
      one.cmd === 'publish' && one.topic.endsWith('/rejections') ? JSON.parse(String(one.payload)) : [],
    )

  it('reach a device that listens, are received with its PUBACK, and done with its answer', async () => {
    const device = await createDevice(owner)
    const listener = await listenForCommands(server, device)
    const payload = { text: 'Grüße "\\u0000"', list: [1, null, { deep: true }] }
    const id = await sendCommand(owner, device, { name: 'say it', payload, expiresInSeconds: 600 })
    const [command] = (await listener.wait(1)) as [Heard]
    const sent = await untilState(owner, device, id, 'sent')
    expect(command).toMatchObject({ id, name: 'say it', payload, expiresAt: sent.expiresAt, dup: false })
    expect(sent).toMatchObject({ deviceId: device.id, result: null, receivedAt: null, finishedAt: null })
    listener.acknowledge(command)
    const received = await untilState(owner, device, id, 'received')
    expect(received).toMatchObject({ sentAt: sent.sentAt, finishedAt: null })
    await listener.answer(id, { status: 'done', result: { battery: [50, '\u0000\ud800'] } })
    // The PUBACK says that it is stored.
    expect((await readCommands(owner, device)).get(id)).toEqual({
      ...received,
      state: 'done',
      result: { battery: [50, '\u0000\ud800'] },
      finishedAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    await listener.cut()
  })

  it('wait for a device that is away, and come in the order in which they were made', async () => {
    const device = await createDevice(owner)
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(await sendCommand(owner, device, { payload: n }))
    const listener = await listenForCommands(server, device, { filter: `devices/${device.id}/#`, qos: 2 })
    expect(told(await listener.wait(5))).toEqual(ids)
    const later = [await sendCommand(owner, device), await sendCommand(owner, device)]
    expect(told(await listener.wait(7))).toEqual([...ids, ...later])
    await listener.cut()
  })

  it('come again with DUP after a lost connection, and not once they were acknowledged', async () => {
    const device = await createDevice(owner)
    const first = await listenForCommands(server, device)
    const [one, two] = [await sendCommand(owner, device), await sendCommand(owner, device)]
    const [received] = (await first.wait(2)) as [Heard]
    first.acknowledge(received)
    await untilState(owner, device, one, 'received')
    await first.cut()
    const three = await sendCommand(owner, device)
    const second = await listenForCommands(server, device)
    expect(told(await second.wait(2))).toEqual([`${two} again`, three])
    for (const command of second.heard()) second.acknowledge(command)
    await untilState(owner, device, three, 'received')
    await second.cut()
    const third = await listenForCommands(server, device)
    const four = await sendCommand(owner, device)
    expect(told(await third.wait(1))).toEqual([four])
    await third.cut()
  })

  it('keep their packet identifier in a session that waits for its client', async () => {
    const device = await createDevice(owner)
    const first = await listenForCommands(server, device, { clean: false })
    const id = await sendCommand(owner, device)
    const [before] = (await first.wait(1)) as [Heard]
    await first.cut()
    const second = await listenForCommands(server, device, { clean: false, filter: null })
    expect(second.sessionPresent).toBe(true)
    const [again] = (await second.wait(1)) as [Heard]
    expect(again).toMatchObject({ id, dup: true, messageId: before.messageId })
    const next = await sendCommand(owner, device)
    expect(told(await second.wait(2))).toEqual([`${id} again`, next])
    await second.cut()
  })

  it('need a subscription with QoS 1, and end with it', async () => {
    const device = await createDevice(owner)
    const listener = await listenForCommands(server, device, { qos: 0 })
    const id = await sendCommand(owner, device)
    const other = await listenForCommands(server, device, { clientId: 'other' })
    expect(told(await other.wait(1))).toEqual([id])
    expect(listener.heard()).toEqual([])
    other.acknowledge(other.heard()[0] as Heard)
    await untilState(owner, device, id, 'received')
    other.raw.send(unsubscribePacket([`devices/${device.id}/commands`]))
    await other.raw.next('unsuback')
    const later = await sendCommand(owner, device)
    const third = await listenForCommands(server, device, { clientId: 'third' })
    expect(told(await third.wait(1))).toEqual([later])
    expect(told(other.heard())).toEqual([id])
    for (const one of [listener, other, third]) await one.cut()
  })

  it('go to one connection of a device, and to the other one when that is lost', async () => {
    const device = await createDevice(owner)
    const older = await listenForCommands(server, device, { clientId: 'older' })
    const newer = await listenForCommands(server, device, { clientId: 'newer' })
    const id = await sendCommand(owner, device)
    expect(told(await newer.wait(1))).toEqual([id])
    expect(older.heard()).toEqual([])
    await newer.cut()
    expect(told(await older.wait(1))).toEqual([`${id} again`])
    await older.cut()
  })

  it('are not sent more than 16 ahead of the acknowledgements', async () => {
    const device = await createDevice(owner)
    const ids: string[] = []
    for (let n = 0; n < 18; n++) ids.push(await sendCommand(owner, device))
    const listener = await listenForCommands(server, device)
    const heard = await listener.wait(16)
    expect(told(heard)).toEqual(ids.slice(0, 16))
    const states = [...(await readCommands(owner, device)).values()].map(({ state }) => state)
    expect(states.filter(state => state === 'queued')).toHaveLength(2)
    listener.acknowledge(heard[3] as Heard)
    expect(told(await listener.wait(17))).toEqual(ids.slice(0, 17))
    await listener.cut()
  })

  it('end with their time: they are not sent, not sent again, and an answer changes nothing', async () => {
    const device = await createDevice(owner)
    const listener = await listenForCommands(server, device)
    const sent = await sendCommand(owner, device, { expiresInSeconds: 20 })
    await listener.wait(1)
    await listener.cut()
    const queued = await sendCommand(owner, device, { expiresInSeconds: 1 })
    for (const id of [sent, queued]) {
      expect(await untilState(owner, device, id, 'expired')).toMatchObject({ result: null, receivedAt: null })
    }
    const again = await listenForCommands(server, device)
    const next = await sendCommand(owner, device)
    expect(told(await again.wait(1))).toEqual([next])
    await again.answer(sent, { status: 'done' })
    expect((await readCommands(owner, device)).get(sent)).toMatchObject({ state: 'expired', result: null })
    await again.cut()
  })

  it('keep the first answer, also without a PUBACK, and are not sent after it', async () => {
    const device = await createDevice(owner)
    const listener = await listenForCommands(server, device)
    const id = await sendCommand(owner, device)
    await listener.wait(1)
    await listener.answer(id.toUpperCase(), { status: 'failed', result: 'no power' })
    await listener.answer(id, { status: 'done', result: 'after all' })
    const command = (await readCommands(owner, device)).get(id)
    expect(command).toMatchObject({ state: 'failed', result: 'no power', receivedAt: expect.any(String) })
    await listener.cut()
    const again = await listenForCommands(server, device)
    const next = await sendCommand(owner, device)
    expect(told(await again.wait(1))).toEqual([next])
    await again.cut()
  })

  it('are answered by their device alone, and what is no answer is told to it', async () => {
    const [device, other] = [await createDevice(owner), await createDevice(owner)]
    const listener = await listenForCommands(server, device, { filter: `devices/${device.id}/#` })
    const id = await sendCommand(owner, device)
    const othersId = await sendCommand(owner, other)
    await listener.wait(1)
    // Unknown ones, and that of another device on the own topic, are acknowledged without an effect.
    await listener.answer(othersId, { status: 'done' })
    await listener.answer('019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70', { status: 'done' })
    await listener.answer(id, 'done')
    await listener.answer(id, { status: 'finished' })
    await listener.answer(id, '[null]')
    await listener.answer(id, { status: 'done', result: 'x'.repeat(8_200) })
    await until('it was told', () => rejections(listener).length === 4)
    expect(rejections(listener).map(({ reason }) => reason)).toEqual([
      'not-json',
      ...['bad-shape', 'bad-shape', 'bad-shape'],
    ])
    expect((await readCommands(owner, device)).get(id)).toMatchObject({ state: 'sent', result: null })
    expect((await readCommands(owner, other)).get(othersId)).toMatchObject({ state: 'queued' })

    const intruder = await listenForCommands(server, other, { filter: null })
    intruder.raw.send(publishPacket({ topic: `devices/${device.id}/commands/${id}`, payload: '{}' }))
    await intruder.raw.closed
    await listener.cut()
    expect((await owner.delete(`/device/${other.id}`)).status).toBe(200)
  })

  it('are no matter of users, who have other topics', async () => {
    const { client, userId } = await addPerson(server, owner, { role: 'Admin' })
    const user = { id: userId, key: client.token }
    const device = await createDevice(owner)
    const id = await sendCommand(owner, device)
    const raw = (await listenAsUser(user)).raw
    raw.send(publishPacket({ topic: `users/${userId}/commands/${id}`, payload: '{"status":"done"}' }))
    await raw.closed
    expect((await readCommands(owner, device)).get(id)).toMatchObject({ state: 'queued' })
  })

  const listenAsUser = (user: { id: string; key: string }) =>
    listenForCommands(server, { id: 'token', key: user.key }, { filter: `users/${user.id}/#` })
})
