import type { Queryable } from '../../../db/client.ts'
import { readHistory } from '../../../db/queries/history.ts'
import type { HistoryFilter } from '../../../db/queries/history-tracks.ts'
import type { HistoryKey } from '../../../db/queries/point-lines.ts'
import type { Visibility } from '../../../db/visibility.ts'
import { invalid } from '../../http/errors.ts'
import { createDates } from './dates.ts'
import { toIso } from './formats/iso.ts'
import { createTripFold } from './trips.ts'

/** Half a minute of PostgreSQL, or a point every six seconds for a year. */
const MAX_POINTS = 5_000_000
/** 4 MB of text. */
const MAX_FOUND = 20_000
/** Points of one statement: 20 ms to read, 10 ms to process. */
const STEP_POINTS = 5_000
const STEP_BYTES = 2 * 1024 * 1024

/** The trips, stops and days of a track, in the form of the interface. Points are read in steps, and only sums are kept. */
export async function findTrips(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
  how: { stopMinutes: number; timeZone: string },
) {
  const fold = createTripFold(how.stopMinutes * 60_000, createDates(how.timeZone))
  let after: HistoryKey | null = null
  for (let [points, ended] = [0, false]; !ended; ) {
    const page = { limit: STEP_POINTS, rows: STEP_POINTS, maxBytes: STEP_BYTES, order: 'asc', after } as const
    const chunk = await readHistory(db, visibility, filter, { ...page, parts: 'track' })
    for (const { recordedAt, lat, lng, speed } of chunk.lines.take(STEP_POINTS)) {
      const speedMps = speed === '' ? null : Number(speed)
      fold.add({ time: recordedAt, lat: Number(lat), lng: Number(lng), speedMps })
    }
    points += chunk.lines.count
    after = chunk.lines.last ?? after
    ended = chunk.ended
    if (points > MAX_POINTS)
      throw invalid('from', 'There are too many points for one answer. Ask for a shorter time.')
    if (fold.count > MAX_FOUND)
      throw invalid('from', 'There are too many trips for one answer. Ask for a shorter time.')
  }
  const { trips, stops, days } = fold.finish()
  const lasting = ({ startTime, endTime }: { startTime: number; endTime: number }) => ({
    startTime: toIso(startTime),
    endTime: toIso(endTime),
    duration: (endTime - startTime) / 1000,
  })
  return {
    trips: trips.map(trip => ({ ...trip, ...lasting(trip), distance: round(trip.distance) })),
    stops: stops.map(stop => ({ ...stop, ...lasting(stop) })),
    days: days
      .sort((a, b) => (a.date < b.date ? -1 : 1))
      .map(({ date, distance, duration }) => ({ date, distance: round(distance), duration })),
  }
}

/** Rounds to decimetres, because nothing here is more precise. */
const round = (metres: number) => Math.round(metres * 10) / 10
