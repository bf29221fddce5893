import { it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { cutAtRandom } from './cuts.ts'
import { startPublishers } from './publisher.ts'

it('a live client that is cut at random and resumes with its cursor ends in the state of the database', async () => {
  const database = await createTestDatabase('pglite')
  let server = await startServer(database)
  const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
  const owner = await signIn(server)
  const publishers = await startPublishers(owner, () => Number(ports.MQTT_PORT), 8, { rate: 400 })
  await cutAtRandom({
    servers: () => [server],
    owner,
    publishers,
    cuts: 12,
    // A cursor stays valid across restarts.
    async onCut(cut) {
      if (cut !== 8) return
      await server.kill9()
      server = await startServer(database, ports)
    },
  })
  await server.stop()
  await database.remove()
})
