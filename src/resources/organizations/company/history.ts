import { validateFix } from '../../../../ingest/fix.ts'
import { NoPoint } from '../../../../ingest/formats/format.ts'
import type { Point } from '../../../../stream/point.ts'
import type { CompanyVehicle } from '../../../streets/company.ts'
import type { Plan } from './plan.ts'
import type { ShiftFix } from './shifts.ts'

/** How long a point takes to us. */
const SENT_AFTER_MS = 900
/** On some days a vehicle is without mobile network for a while, and sends what it kept afterwards. */
const SILENCE = { everyShift: 9, afterMs: 2 * 3_600_000, forMs: 25 * 60_000 }
/** One receiver is wrong once, far out at sea. */
const WRONG = { vehicle: 1, day: 3, fix: 200, west: 0.25 }

/** The points of a shift as its tracker sent them. */
export function listPoints(plan: Plan, vehicle: CompanyVehicle, day: number, subject: number): Point[] {
  const { fixes } = plan.drive(vehicle, day)
  const [first] = fixes
  if (!first) return []
  const isSilent = (vehicle.number + day) % SILENCE.everyShift === 0
  const silentFrom = first.at + SILENCE.afterMs
  const silentTo = silentFrom + SILENCE.forMs
  const isWrong = vehicle.number === WRONG.vehicle && day === WRONG.day
  return fixes.flatMap((fix, index) => {
    const isKept = isSilent && fix.at >= silentFrom && fix.at < silentTo
    const receivedAt = Math.min(isKept ? silentTo : fix.at, plan.at) + SENT_AFTER_MS
    const point = toPoint(isWrong && index === WRONG.fix ? { ...fix, lng: fix.lng - WRONG.west } : fix)
    return point ?? []

    function toPoint({ at, ...reading }: ShiftFix): Point | null {
      const valid = validateFix({ ...reading, altitude: null, timestamp: at }, subject, receivedAt)
      return valid instanceof NoPoint ? null : valid
    }
  })
}
