import { readRing, type Shape, writeRing } from '../../../map/areas.ts'
import type { Fence } from './fence-queries.ts'

const FENCE = 'fence:'

export const areaOf = (fenceId: string): string => FENCE + fenceId
export const areaOfRing = (ring: readonly [number, number][]): string => writeRing(ring)
export const isDrawn = (area: string): boolean => area !== '' && !area.startsWith(FENCE)

/** The area that an address names. Null means everywhere: without an area, or when it is unknown or deleted. */
export function findArea(area: string, fences: readonly Fence[]): Shape | null {
  if (area === '') return null
  if (area.startsWith(FENCE)) return fences.find(({ _id }) => areaOf(_id) === area)?.shape ?? null
  const ring = readRing(area)
  return ring && { type: 'polygon', coordinates: ring }
}
