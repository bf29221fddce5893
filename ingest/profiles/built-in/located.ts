import { isFields } from '../../formats/format.ts'
import { NO_POSITION, type Read, readPlace } from './reading.ts'

/** A place that a network server has computed from the receptions of its gateways. `registered` marks a typed-in one. */
export function readLocated(location: unknown, at: unknown, registered: string): Read {
  if (!isFields(location)) return NO_POSITION
  if (location.source === registered) return 'The place is the one that somebody has registered.'
  if (location.latitude === undefined && location.longitude === undefined) return NO_POSITION
  // Network servers leave out a value that is 0.
  const place = readPlace(location.latitude ?? 0, location.longitude ?? 0)
  if (typeof place === 'string') return place
  return {
    ...place,
    timestamp: at,
    altitude: location.altitude,
    accuracy: location.accuracy,
    attributes: typeof location.source === 'string' ? { source: location.source } : null,
  }
}
