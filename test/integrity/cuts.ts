import { expect } from 'vitest'
import { type Client, readNewest } from '../support/client.ts'
import { openScreen, shows, type TestScreen } from '../support/screen.ts'
import type { Server } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import type { Publisher } from './publisher.ts'

/** These passes take two seconds, in which no news arrives. */
const CALM_PASSES = 8

/**
 * Cuts a screen's connection at random moments while devices publish, and resumes it with its cursor on the next of
 * `servers`. The screen needs no second snapshot, no subject goes back in time, and at the end the screen shows the
 * state of the database.
 */
export async function cutAtRandom(options: {
  servers: () => readonly Server[]
  owner: Client
  publishers: readonly Publisher[]
  cuts: number
  /** Called while the screen is disconnected. */
  onCut?: (cut: number) => Promise<void>
}): Promise<void> {
  const { servers, owner, publishers, cuts } = options
  const next = (cut: number) => servers()[cut % servers().length] as Server
  let screen: TestScreen = await openScreen(next(0), owner.token)
  // Each device is announced on its own, and a busy process may hear of the last one late.
  let calm = 0
  await until('every process knows of every device that was just made', async () => {
    let snapshots = 0
    await pause(250)
    for (const server of servers()) {
      screen.cut()
      screen = await openScreen(server, owner.token, { resume: screen })
      snapshots += screen.snapshots
    }
    calm = snapshots === 0 ? calm + 1 : 0
    return calm === CALM_PASSES
  })
  for (let cut = 1; cut <= cuts; cut++) {
    await pause(Math.random() * 120)
    screen.cut()
    await options.onCut?.(cut)
    await pause(Math.random() * 60)
    const before = screen
    screen = await openScreen(next(cut), owner.token, { resume: before })
    expect(screen.snapshots).toBe(0)
    expect(screen.backwards).toBe(0)
  }
  await Promise.all(publishers.map(publisher => publisher.finish()))

  await until('the history holds the last point of each', async () => {
    const newest = await readNewest(owner)
    return publishers.every(({ device, newest: last }) => newest.get(device.id)?.timestamp === last)
  })
  const newest = await readNewest(owner)
  expect(newest.size).toBeGreaterThanOrEqual(publishers.length)
  await until('the screen shows what the history holds', () => shows(screen, newest))
  screen.cut()
}
