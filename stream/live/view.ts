import type { SubjectInfo } from '../../db/queries/newest-fixes.ts'

/** What a caller may see, of one organization. */
export interface Sight {
  organizationId: string
  /** Null is every subject of the organization. */
  subjectIds: readonly string[] | null
}

/** What a screen wants to see of it. Keys are ANDed, values ORed. */
export interface Filter {
  subjectIds?: readonly string[]
  hubIds?: readonly string[]
  teamIds?: readonly string[]
  /** west, south, east, north in degrees; west is greater than east across the antimeridian. */
  bbox?: readonly [number, number, number, number]
}

/** Sight and filter together, as one test of a subject where it is. */
export function createView(
  sight: Sight,
  filter: Filter,
): (info: SubjectInfo, lat: number, lng: number) => boolean {
  const seen = sight.subjectIds && new Set(sight.subjectIds)
  const wanted = filter.subjectIds && new Set(filter.subjectIds)
  const hubs = filter.hubIds && new Set(filter.hubIds)
  const { bbox, teamIds } = filter
  return (info, lat, lng) => {
    if (info.gone || (seen && !seen.has(info.subjectId))) return false
    if (wanted && !wanted.has(info.subjectId)) return false
    if (hubs && !(info.hubId && hubs.has(info.hubId))) return false
    // There are no teams yet, so nobody is in one.
    if (teamIds) return false
    if (!bbox) return true
    const [west, south, east, north] = bbox
    const between = west <= east ? lng >= west && lng <= east : lng >= west || lng <= east
    return between && lat >= south && lat <= north
  }
}
