import { rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { openServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const PRELOAD = resolve(import.meta.dirname, '../support/fail-disk.mjs')

it('An embedded server whose disk takes nothing more acknowledges nothing more, and ends with 1', async () => {
  const database = await createTestDatabase('pglite')
  const failed = join(database.dataDir, 'failed')
  const server = await startServer(database, { NODE_OPTIONS: `--import=${PRELOAD}`, FAIL_DISK: failed })
  const owner = await signIn(server)
  const device = await createDevice(owner)
  const first = Date.now() - 3600_000
  const acknowledged: number[] = []
  const send = async (timestamp: number) => {
    const point = { lat: 1, lng: 1, timestamp, deviceId: device.id }
    const { status } = await owner.post('/location-history/bulk', { points: [point] })
    if (status < 300) acknowledged.push(timestamp)
    return status
  }
  for (let n = 0; n < 10; n++) expect(await send(first + n)).toBe(200)
  writeFileSync(failed, '')
  // The request is answered with 503 or not at all.
  expect(await send(first + 10).catch(() => 503)).toBe(503)
  expect(await server.stop()).toBe(1)
  await until('it says why', () => server.output.stderr.includes('EIO'))

  rmSync(failed)
  const again = await openServer(database)
  const stored = (await readHistory(await signIn(again), device.id)).map(({ timestamp }) =>
    Date.parse(timestamp),
  )
  expect(acknowledged.filter(time => !stored.includes(time))).toEqual([])
  await again.stop()
  await database.remove()
})
