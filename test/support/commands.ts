import type { IPublishPacket } from 'mqtt-packet'
import {
  connectPacket,
  openRaw,
  packet,
  publishPacket,
  type RawClient,
  subscribePacket,
} from '../ingest/raw.ts'
import type { Client, TestDevice } from './client.ts'
import { until } from './wait.ts'

/** A command as a device gets it. */
export interface Heard {
  id: string
  name: string
  payload: unknown
  expiresAt: string
  dup: boolean
  messageId: number
}

/** A connection of a device that is subscribed to its commands. It acknowledges nothing by itself. */
export interface CommandListener {
  raw: RawClient
  sessionPresent: boolean
  /** All commands that have come. */
  heard(): Heard[]
  /** Waits until so many have come, and returns them. */
  wait(count: number): Promise<Heard[]>
  acknowledge(command: Heard): void
  /** Publishes an answer, and resolves when it is acknowledged. */
  answer(commandId: string, answer: unknown): Promise<void>
  /** Cuts the connection. */
  cut(): Promise<void>
}

export async function listenForCommands(
  { mqttPort }: { mqttPort: number },
  device: TestDevice,
  options: { clientId?: string; clean?: boolean; filter?: string | null; qos?: 0 | 1 | 2 } = {},
): Promise<CommandListener> {
  const { clientId = 'tracker', clean = true, filter = `devices/${device.id}/commands`, qos = 1 } = options
  const raw = openRaw(mqttPort)
  raw.send(connectPacket({ clientId, username: device.id, password: device.key, clean }))
  const { returnCode, sessionPresent } = (await raw.next('connack')) as {
    returnCode: number
    sessionPresent: boolean
  }
  if (returnCode !== 0) throw new Error(`Not accepted: ${returnCode}`)
  if (filter !== null) raw.send(subscribePacket([[filter, qos]], 1))
  if (filter !== null) await raw.next('suback')
  let lastId = 1

  const heard = (): Heard[] =>
    raw.packets.flatMap(one => {
      const { cmd, topic, payload, dup, messageId = 0 } = one as IPublishPacket
      if (cmd !== 'publish' || topic !== `devices/${device.id}/commands`) return []
      return { ...JSON.parse(String(payload)), dup, messageId }
    })

  return {
    raw,
    sessionPresent,
    heard,
    async wait(count) {
      await until(`${count} commands have come`, () => heard().length >= count)
      return heard()
    },
    acknowledge: ({ messageId }) => raw.send(packet(0x40, [messageId >> 8, messageId & 255])),
    async answer(commandId, answer) {
      const id = ++lastId
      const payload = typeof answer === 'string' ? answer : JSON.stringify(answer)
      raw.send(publishPacket({ topic: `devices/${device.id}/commands/${commandId}`, payload, id }))
      await until('the answer is acknowledged', () => raw.heard.includes(`puback ${id}`))
    },
    async cut() {
      raw.end()
      await raw.closed
    },
  }
}

/** Makes a command and returns its identifier. */
export async function sendCommand(client: Client, device: TestDevice, command: object = {}): Promise<string> {
  const { status, body } = await client.post(`/device/${device.id}/command`, { name: 'blink', ...command })
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.data._id
}

/** The commands of a device by identifier. */
// biome-ignore lint/suspicious/noExplicitAny: answers are compared as a whole
export async function readCommands(client: Client, device: TestDevice): Promise<Map<string, any>> {
  const { body } = await client.get(`/device/${device.id}/commands?limit=500`)
  return new Map(body.data.map((command: { _id: string }) => [command._id, command]))
}

/** Waits until a command is in this state, and returns it. */
export async function untilState(client: Client, device: TestDevice, id: string, state: string) {
  await until(`it is ${state}`, async () => (await readCommands(client, device)).get(id)?.state === state)
  return (await readCommands(client, device)).get(id)
}
