import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findFaketime } from '../services/faketime.ts'
import { createClient, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { countAcknowledged, startPublishers } from './publisher.ts'

const faketime = await findFaketime()
const HOUR_S = 3_600
/** Ends on a clock that is right. */
const STEPS = [HOUR_S, 0, -HOUR_S, 0, ...Array.from({ length: 9 }, (_, n) => (n % 3) * 400 - 400), 0]
const STEP_EVERY_MS = 200

// On the embedded database the clock is its own as well.
describe.each(['postgres', 'pglite'] as const)('A server on %s', kind => {
  const reason = faketime.available
    ? (kind === 'postgres' && postgresMissing()) || undefined
    : faketime.reason

  it('whose clock leaps to and fro loses no point, and keeps nobody out', async context => {
    if (!faketime.available || reason) {
      if (process.env.REQUIRE_SERVICES === '1') throw new Error(reason)
      return context.skip(reason)
    }
    const database = await createTestDatabase(kind)
    const clock = join(database.dataDir, 'clock')
    const setClock = (seconds: number) => writeFileSync(clock, `${seconds < 0 ? '' : '+'}${seconds}`)
    setClock(0)
    const server = await startServer(database, {
      LD_PRELOAD: faketime.library,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
      RATE_LIMIT_PER_MINUTE: '1200',
    })
    const owner = await signIn(server)
    const publishers = await startPublishers(owner, () => server.mqttPort, 6, { rate: 1_000 })
    const count = () => countAcknowledged(publishers)
    await until('under load', () => count() > 200)
    for (const step of STEPS) {
      setClock(step)
      const before = count()
      await pause(STEP_EVERY_MS)
      await until('the server has seen the hour', async () => {
        const { status, headers } = await owner.get('/user')
        expect([step, status]).toEqual([step, 200])
        const aheadMs = Date.parse(headers.get('date') as string) - Date.now()
        return Math.round(aheadMs / 1000 / HOUR_S) === Math.trunc(step / HOUR_S)
      })
      await until('it goes on', () => count() > before)
    }
    const again = await signIn(server)
    expect((await createClient(server, again.token).get('/user')).status).toBe(200)
    expect(publishers.map(({ connections }) => connections)).toEqual(publishers.map(() => 1))
    await Promise.all(publishers.map(publisher => publisher.finish()))
    const report = await checkHistories(owner, publishers)
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
    expect(report.stored).toBe(report.acknowledged)
    expect(await server.stop()).toBe(0)
    await database.remove()
  })
})
