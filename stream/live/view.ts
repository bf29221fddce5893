import type { NewestFix, SubjectInfo } from '../../db/queries/newest-fixes.ts'
import { createVisibilityTest, type Visibility } from '../../db/visibility.ts'

/** A live client's own selection. Keys are ANDed, values ORed. */
export interface Filter {
  subjectIds?: readonly string[]
  hubIds?: readonly string[]
  teamIds?: readonly string[]
  /** west, south, east, north in degrees; west is greater than east across the antimeridian. */
  bbox?: readonly [number, number, number, number]
}

/** A place and its time. */
type Fix = Pick<NewestFix, 'lat' | 'lng' | 'recordedAt'>

/** Visibility and filter combined into one test of a subject at a place: both subject and fix have to be visible. */
export function createView(visibility: Visibility, filter: Filter): (info: SubjectInfo, fix: Fix) => boolean {
  const isVisible = createVisibilityTest(visibility)
  const wanted = filter.subjectIds && new Set(filter.subjectIds)
  const hubs = filter.hubIds && new Set(filter.hubIds)
  const teams = filter.teamIds && new Set(filter.teamIds)
  const { bbox } = filter
  return (info, { lat, lng, recordedAt }) => {
    if (info.gone || !isVisible(info) || !isVisible(info, recordedAt)) return false
    if (wanted && !wanted.has(info.subjectId)) return false
    if (hubs && !info.hubIds.some(id => hubs.has(id))) return false
    if (teams && !info.teamIds.some(id => teams.has(id))) return false
    if (!bbox) return true
    const [west, south, east, north] = bbox
    const between = west <= east ? lng >= west && lng <= east : lng >= west || lng <= east
    return between && lat >= south && lat <= north
  }
}
