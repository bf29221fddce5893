import type { NewestFix, SubjectInfo } from '../../db/queries/newest-fixes.ts'
import type { Point } from '../point.ts'
import type { Motion, State } from './presence.ts'

/** The newest position of a subject in a live process. */
export interface Position {
  fix: NewestFix
  /** Undefined until it is read, for a subject that is new to this process. */
  info: SubjectInfo | undefined
  /** Derived from the fixes that this process has seen; fixes from before its start are missing. */
  motion: Motion
  state: State
  /** The wheel's bucket in which its state is looked at next. */
  bucket: number
  /** The position as JSON, written when it is first needed after a change. */
  json: string | undefined
}

export type NamedPosition = Position & { info: SubjectInfo }

export function isNamed(position: Position): position is NamedPosition {
  return position.info !== undefined
}

/** The fix of a point, which the record at this place of the log holds. */
export function toFix(point: Point, logPartition: number, logOffset: number): NewestFix {
  const { subject, recordedAt, lat, lng, speed, heading, accuracy, battery } = point
  return {
    subject,
    recordedAt,
    lat,
    lng,
    speed,
    heading,
    accuracy,
    battery,
    logPartition,
    logOffset,
    lastAt: null,
  }
}

/** The position as the live stream shows it. */
export function toJson(position: NamedPosition): string {
  const { fix, info, state } = position
  position.json ??= JSON.stringify({
    subjectId: info.subjectId,
    subjectType: info.subjectType,
    name: info.name,
    lat: fix.lat,
    lng: fix.lng,
    timestamp: new Date(fix.recordedAt).toISOString(),
    speed: fix.speed,
    heading: fix.heading,
    accuracy: fix.accuracy,
    battery: fix.battery,
    state,
  })
  return position.json
}
