import type { Queryable } from '../../../db/client.ts'
import type { VisibleHubs } from '../../../db/hub-rule.ts'
import { type HourPart, readActivityStep } from '../../../db/queries/device-diagnosis.ts'

/** An hour in which a device recorded points. */
interface Hour {
  from: Date
  points: number
  battery: number | null
  longestGapS: number | null
}

/** The points of one statement: 20 ms of the embedded database, which serves nobody else meanwhile. */
const STEP_POINTS = 20_000
/** Eight points a second for the whole time. */
export const MAX_ACTIVITY_POINTS = 5_000_000

/** The hours of a device's last days, the oldest first, from the newest points backwards and in steps. */
export async function readActivity(
  db: Queryable,
  organizationId: string,
  deviceId: string,
  hubIds: VisibleHubs,
): Promise<Hour[]> {
  /** The oldest hour last. */
  const hours: HourPart[] = []
  let before: string | null = null
  for (let points = 0; points < MAX_ACTIVITY_POINTS; ) {
    const step = { before, limit: STEP_POINTS }
    const {
      read,
      earliest,
      hours: older,
    } = await readActivityStep(db, organizationId, deviceId, hubIds, step)
    for (const hour of older.reverse()) add(hours, hour)
    points += read
    before = earliest
    if (read < STEP_POINTS) break
  }
  return hours.reverse().map(({ from, points, battery, longestGapMs }) => ({
    from: new Date(from),
    points,
    battery,
    longestGapS: longestGapMs === null ? null : Math.round(longestGapMs / 1000),
  }))
}

/** Adds an older hour, or the older part of the last one. */
function add(hours: HourPart[], older: HourPart): void {
  const later = hours.at(-1)
  if (later) {
    later.longestGapMs = Math.max(later.longestGapMs ?? 0, later.firstAt - older.lastAt)
    if (later.from === older.from) {
      later.points += older.points
      later.battery ??= older.battery
      if (older.longestGapMs !== null) later.longestGapMs = Math.max(later.longestGapMs, older.longestGapMs)
      later.firstAt = older.firstAt
      return
    }
  }
  hours.push({ ...older })
}
