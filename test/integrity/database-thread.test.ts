import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { openServer, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

const PRELOAD = resolve(import.meta.dirname, '../support/lose-database-thread.mjs')

it('A server whose embedded database is lost under load ends with 1, and nothing acknowledged is lost', async () => {
  const database = await createTestDatabase('pglite')
  const server = await startServer(database, { NODE_OPTIONS: `--import=${PRELOAD}` })
  const owner = await signIn(server)
  const device = await createDevice(owner)
  const first = Date.now() - 3600_000
  const acknowledged: number[] = []
  const statuses = new Set<number>()
  const publish = async (sender: number) => {
    for (let n = 0; ; n++) {
      const timestamp = first + n * 8 + sender
      const point = { lat: 1, lng: 1, timestamp, deviceId: device.id }
      const answer = await owner.post('/location-history/bulk', { points: [point] })
      statuses.add(answer.status)
      if (answer.status < 300) acknowledged.push(timestamp)
      else await pause(50)
    }
  }
  // They end when the server no longer listens.
  const publishing = Promise.allSettled(Array.from({ length: 8 }, (_, sender) => publish(sender)))
  await until('points are acknowledged', () => acknowledged.length > 50)
  process.kill(server.pid, 'SIGWINCH')
  await publishing
  expect(await server.stop()).toBe(1)
  expect([...statuses].filter(status => status >= 300 && status !== 503)).toEqual([])
  await until('it says why', () =>
    server.output.stderr.includes('The thread of the embedded database has ended'),
  )

  const again = await openServer(database)
  const history = await readHistory(await signIn(again), device.id)
  const stored = history.map(({ timestamp }) => Date.parse(timestamp))
  expect(new Set(stored).size).toBe(stored.length)
  expect(acknowledged.filter(time => !stored.includes(time))).toEqual([])
  await again.stop()
  await database.remove()
})
