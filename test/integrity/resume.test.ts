import { expect, it } from 'vitest'
import { createDevice, signIn } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { startPublisher } from './publisher.ts'

it('a screen that is cut at random and resumes with its cursor ends in the state of the database', async () => {
  const database = await createTestDatabase('pglite')
  let server = await startServer(database)
  const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
  const owner = await signIn(server)
  const publishers = []
  for (let seed = 1; seed <= 8; seed++) {
    publishers.push(startPublisher(() => Number(ports.MQTT_PORT), await createDevice(owner), seed))
  }

  let screen: TestScreen = await openScreen(server, owner.token)
  await until('the screen knows of every device that was just made', async () => {
    const before = screen
    before.cut()
    screen = await openScreen(server, owner.token, { resume: before })
    return screen.snapshots === 0
  })
  for (let cut = 1; cut <= 60; cut++) {
    await pause(Math.random() * 120)
    screen.cut()
    if (cut % 25 === 0) {
      await server.kill9()
      server = await startServer(database, ports)
    }
    await pause(Math.random() * 60)
    const before = screen
    screen = await openScreen(server, owner.token, { resume: before })
    // A cursor holds across restarts, so there is never a second snapshot.
    expect(screen.snapshots).toBe(0)
  }
  await Promise.all(publishers.map(publisher => publisher.finish()))

  const newest = await owner.get('/location-histories?limit=100')
  expect(newest.body.data).toHaveLength(publishers.length)
  await until('the screen shows what the database holds', () =>
    newest.body.data.every((point: { subjectId: string; timestamp: string; lat: number }) => {
      const shown = screen.positions.get(point.subjectId)
      return shown?.timestamp === point.timestamp && shown.lat === point.lat
    }),
  )
  screen.cut()
  await server.stop()
  await database.remove()
}, 180_000)
