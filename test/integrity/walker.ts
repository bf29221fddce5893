import type { FenceShape } from '../../db/schema/geofences.ts'
import { type Client, createDevice } from '../support/client.ts'
import { byTime, expectedCrossings } from '../support/fences.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { shuffle } from '../support/traces.ts'
import { pause, until } from '../support/wait.ts'

const POINTS = 500
const AT_ONCE = 15
const RETRY_MS = 100
const PAUSE_MS = 30
/** Degrees of a kilometre, where it walks. */
const KM = 0.009

/** Somebody who walks in and out of geofences, and whose phone sends what it has in any order and often twice. */
export interface Walker {
  /** Resolves when everything is acknowledged, to how many crossings are told: each once, and those alone that were. */
  finish(): Promise<number>
}

export async function startWalker(server: { mqttPort: number }, owner: Client): Promise<Walker> {
  const fences: { _id: string; shape: FenceShape }[] = []
  for (const [index, radius] of [150, 300, 600].entries()) {
    const shape = { type: 'circle' as const, center: { lat: 10 + index * KM, lng: 20 }, radius }
    const made = await owner.post('/geofence', { name: `Fence ${index}`, shape })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
    fences.push({ _id: made.body.data._id as string, shape })
  }
  const device = await createDevice(owner, 'Walker')
  const begun = Math.floor(Date.now() / 1000) * 1000 - 2 * 24 * 3_600_000
  // 3.5 km to and fro, at 1.5 m/s.
  const points = Array.from({ length: POINTS }, (_, n) => {
    const along = ((n * 90) % 7_000) / 1_000
    const lat = 10 - 0.7 * KM + Math.min(along, 7 - along) * KM
    return { lat, lng: 20.0001, timestamp: begun + n * 60_000 }
  })
  const sending = shuffle([...points, ...points.filter((_, n) => n % 5 === 0)])

  async function send(some: typeof points): Promise<void> {
    for (let isAcknowledged = false; !isAcknowledged; ) {
      const client = await connectDevice(server, device).catch(() => null)
      if (client) {
        const lost = new Promise<boolean>(resolve => client.on('close', () => resolve(false)))
        client.on('error', () => {})
        const done = publish(client, device, some).then(
          () => true,
          () => false,
        )
        isAcknowledged = await Promise.race([done, lost])
        client.end(true)
      }
      if (!isAcknowledged) await pause(RETRY_MS)
    }
  }
  const sent = (async () => {
    for (let at = 0; at < sending.length; at += AT_ONCE) {
      await send(sending.slice(at, at + AT_ONCE))
      await pause(PAUSE_MS)
    }
  })()

  return {
    async finish() {
      await sent
      const expected = expectedCrossings(points, fences)
      const shown = JSON.stringify(expected)
      await until(
        'each crossing is told once',
        async () => JSON.stringify(await readHolding()) === shown,
        60_000,
      )
      return expected.length
    },
  }

  async function readHolding() {
    const events = []
    for (let cursor = ''; ; ) {
      const { body } = await owner.get(`/geofence-events?subjectId=${device.id}&limit=500${cursor}`)
      events.push(...body.data)
      if (body.pagination.nextCursor === null) break
      cursor = `&cursor=${body.pagination.nextCursor}`
    }
    return events
      .filter(({ retracted }) => !retracted)
      .map(({ geofenceId, event, at, lat, lng }) => ({ geofenceId, event, at, lat, lng }))
      .sort(byTime)
  }
}
