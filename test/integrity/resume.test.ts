import { it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { openServer, type Server, startServer } from '../support/server.ts'
import { cutAtRandom } from './cuts.ts'
import { startPublishers } from './publisher.ts'

it('a live client that is cut at random and resumes with its cursor ends in the state of the database', async () => {
  const database = await createTestDatabase('pglite')
  const first = await startServer(database)
  let server: Server = first
  const ports = { PORT: new URL(first.url).port, MQTT_PORT: `${first.mqttPort}` }
  const owner = await signIn(first)
  const publishers = await startPublishers(owner, () => Number(ports.MQTT_PORT), 8, { rate: 200 })
  await cutAtRandom({
    servers: () => [server],
    owner,
    publishers,
    cuts: 6,
    // A cursor stays valid across restarts.
    async onCut(cut) {
      if (cut !== 3) return
      await first.kill9()
      server = await openServer(database, ports)
    },
  })
  await server.stop()
  await database.remove()
})
