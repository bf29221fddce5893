import type { Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { readNewest, readPoints } from '../../../db/queries/history.ts'
import type { HistoryPoint } from '../../../db/queries/point-lines.ts'
import { toIso } from '../location-history/formats/iso.ts'
import { findShape } from '../location-history/simplified.ts'
import type { OpenLink } from './open-links.ts'

const TRAIL_POINTS = 500
/** More than these points take, even with the largest attributes. */
const TRAIL_BYTES = 4 * 1024 * 1024
/** For this time all callers of one link share an answer, because a trail may be made from a day of points. */
const SHARED_MS = 2_000

/** Reads the position and the trail of a link's subject. */
export function createTracked(db: Queryable) {
  const shared = new Map<string, { until: number; answer: ReturnType<typeof read> }>()

  async function read({ visibility, subject, subjectId, trailMinutes }: OpenLink) {
    const newest = await readNewest(
      db,
      visibility,
      { from: null, to: null, bbox: null, includeAnomalies: false },
      { limit: 1, rows: 1, maxBytes: TRAIL_BYTES, after: subject - 1 },
    )
    const [point] = newest.lines.take(1)
    const position = point ? toPublic(point) : null
    if (trailMinutes === 0) return { position, trail: [] }
    const from = timeOfDay() - trailMinutes * 60_000
    const filter = {
      subjectIds: [subjectId],
      vehicleIds: [],
      from,
      to: null,
      bbox: null,
      includeAnomalies: false,
    }
    const how = { maxPoints: TRAIL_POINTS, order: 'asc', after: null, enough: TRAIL_POINTS } as const
    const { keys } = await findShape(db, visibility, filter, how)
    const { lines } = await readPoints(db, visibility, keys, TRAIL_BYTES)
    return { position, trail: lines.take(keys.length).map(toPublic) }
  }

  return async (link: OpenLink) => {
    const now = performance.now()
    for (const [id, { until }] of shared) if (until <= now) shared.delete(id)
    const answer = shared.get(link.id)?.answer ?? read(link)
    if (!shared.has(link.id)) {
      shared.set(link.id, { until: now + SHARED_MS, answer })
      // Whoever asks next does not share a failure.
      answer.catch(() => shared.delete(link.id))
    }
    const { position, trail } = await answer
    const { name, expiresAt, task } = link
    return { name, position, trail, expiresAt, ...(task && { destination: task.destination }) }
  }
}

const toPublic = ({ lat, lng, recordedAt, speed, heading }: HistoryPoint) => ({
  lat: Number(lat),
  lng: Number(lng),
  timestamp: toIso(recordedAt),
  speed: speed === '' ? null : Number(speed),
  heading: heading === '' ? null : Number(heading),
})
