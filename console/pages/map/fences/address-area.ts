import { readRing, type Shape, writeRing } from '../../../map/areas.ts'
import type { Fence } from './fence-queries.ts'

const FENCE = 'fence:'

export const areaOf = (fenceId: string): string => FENCE + fenceId
export const areaOfRing = (ring: readonly [number, number][]): string => writeRing(ring)
export const isDrawn = (area: string): boolean => area !== '' && !area.startsWith(FENCE)

/** What an area of the address means. Null is everywhere: there is none, or nobody knows it (any more). */
export function findArea(area: string, fences: readonly Fence[]): Shape | null {
  if (area === '') return null
  if (area.startsWith(FENCE)) return fences.find(({ _id }) => areaOf(_id) === area)?.shape ?? null
  const ring = readRing(area)
  return ring && { type: 'polygon', coordinates: ring }
}
