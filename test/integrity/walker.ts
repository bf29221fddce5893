import type { FenceShape } from '../../db/schema/geofences.ts'
import { type Client, createDevice } from '../support/client.ts'
import { byTime, expectedCrossings } from '../support/fences.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { shuffle } from '../support/traces.ts'
import { pause, until } from '../support/wait.ts'

/** Points of one walk. */
const POINTS = 150
const STEP_MS = 20_000
const AT_ONCE = 15
const RETRY_MS = 100
const PAUSE_MS = 100
/** Degrees in a kilometre at that latitude. */
const KM = 0.009

/**
 * A person who enters and leaves geofences in one walk after the other. The phone sends each walk in any order, and
 * often twice.
 */
export interface Walker {
  /** Resolves when the last walk has ended and all of its points are acknowledged. */
  finish(): Promise<void>
  /** Resolves to the number of reported crossings, when each real crossing is reported once and no other is. */
  countCrossings(): Promise<number>
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
  const begun = Math.floor(Date.now() / 1000) * 1000 - 60 * 24 * 3_600_000
  const points: { lat: number; lng: number; timestamp: number }[] = []
  let ending = false

  // 3.5 km there and back, in steps of 90 m.
  const walk = () =>
    Array.from({ length: POINTS }, (_, index) => {
      const n = points.length + index
      const along = ((n * 90) % 7_000) / 1_000
      const lat = 10 - 0.7 * KM + Math.min(along, 7 - along) * KM
      return { lat, lng: 20.0001, timestamp: begun + n * STEP_MS }
    })

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
    do {
      const walked = walk()
      points.push(...walked)
      const sending = shuffle([...walked, ...walked.filter((_, n) => n % 5 === 0)])
      for (let at = 0; at < sending.length; at += AT_ONCE) {
        await send(sending.slice(at, at + AT_ONCE))
        await pause(PAUSE_MS)
      }
    } while (!ending)
  })()

  return {
    async finish() {
      ending = true
      await sent
    },
    async countCrossings() {
      const expected = expectedCrossings(points, fences)
      const shown = JSON.stringify(expected)
      await until('each crossing is told once', async () => JSON.stringify(await readHolding()) === shown)
      return expected.length
    },
  }

  async function readHolding() {
    // There may be geofences of others on the way.
    const own = new Set(fences.map(({ _id }) => _id))
    const events = []
    for (let cursor = ''; ; ) {
      const { body } = await owner.get(`/geofence-events?subjectId=${device.id}&limit=500${cursor}`)
      events.push(...body.data)
      if (body.pagination.nextCursor === null) break
      cursor = `&cursor=${body.pagination.nextCursor}`
    }
    return events
      .filter(({ retracted, geofenceId }) => !retracted && own.has(geofenceId))
      .map(({ geofenceId, event, at, lat, lng }) => ({ geofenceId, event, at, lat, lng }))
      .sort(byTime)
  }
}
