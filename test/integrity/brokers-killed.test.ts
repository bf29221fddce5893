import mqtt from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Mosquitto, startMosquitto } from '../services/mosquitto.ts'
import type { Service } from '../services/services.ts'
import { type Client, readHistory, signIn } from '../support/client.ts'
import { addConnection, readConnection, traccarFix } from '../support/connections.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

const ENV = { CONNECTIONS_ALLOW_PRIVATE: 'true' }
const TRACKERS = 5

describe('Messages of another broker', () => {
  let database: TestDatabase
  let server: ServerProcess
  let mosquitto: Service<Mosquitto>
  let owner: Client

  beforeAll(async () => {
    const config = 'max_queued_messages 100000'
    database = await createTestDatabase(usualKind())
    ;[server, mosquitto] = await Promise.all([startServer(database, ENV), startMosquitto({ config })])
    owner = await signIn(server)
  })
  afterAll(async () => {
    await server.stop()
    if (mosquitto.available) await mosquitto.stop()
    await database.remove()
  })

  it('are stored exactly once, whenever the process that holds the connection is killed', async context => {
    if (!mosquitto.available) return context.skip(mosquitto.reason)
    const url = `mqtt://127.0.0.1:${mosquitto.port}`
    const connection = await addConnection(owner, { kind: 'broker', createDevices: true, broker: { url } })
    const connected = () =>
      until('it is connected', async () => (await readConnection(owner, connection)).state === 'connected')
    await connected()
    const publisher = await mqtt.connectAsync(url)
    const begin = Date.now() - 3_600_000
    let sent = 0
    let sending = true
    const publishing = (async () => {
      while (sending) {
        const batch = Array.from({ length: 20 }, () => sent++)
        const send = (n: number) =>
          publisher.publishAsync('t', traccarFix(`killed-${n % TRACKERS}`, begin + n * 10), { qos: 1 })
        await Promise.all(batch.map(send))
        await pause(50)
      }
    })()
    const stored = async () => {
      const { body } = await owner.get('/devices?search=killed-')
      const all = await Promise.all(body.data.map(({ _id }: { _id: string }) => readHistory(owner, _id)))
      return all.flat().map(({ timestamp }) => Date.parse(timestamp))
    }
    for (let round = 0; round < 3; round++) {
      const before = sent
      await until('messages are stored', async () => sent > before + 100 && (await stored()).length > before)
      await server.kill9()
      server = await startServer(database, ENV)
      owner = await signIn(server)
    }
    sending = false
    await publishing
    await publisher.endAsync()
    // What Mosquitto has acknowledged to the publisher is what it has to deliver.
    await until('all are stored', async () => (await stored()).length >= sent)
    const times = (await stored()).sort((a, b) => a - b)
    expect(times).toEqual(Array.from({ length: sent }, (_, n) => begin + n * 10))
  })
})
