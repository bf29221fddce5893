import type { Shape } from '../map/areas.ts'
import { useRecords } from '../parts/records.ts'
import { useFormat, useTexts } from '../texts/texts.tsx'

/** The fields of a geofence that tell it apart from another one. */
export interface HintedFence {
  _id: string
  name: string
  hubId: string | null
  shape: Shape
}

/** Says the kind of a shape and its size: "Circle, 500 m". */
export function useShapeText(): (shape: Shape) => string {
  const { fences: t } = useTexts()
  const format = useFormat()
  return shape =>
    shape.type === 'circle'
      ? t.circleOf(format.distance(shape.radius))
      : t.polygonOf(format.count(shape.coordinates.length - 1))
}

/** The hints, by identifier, for geofences that share their name with another one: their hub and their shape. */
export function useFenceHints(): (fences: readonly HintedFence[]) => ReadonlyMap<string, string> {
  const hubs = useRecords('hubs', '')
  const say = useShapeText()
  return fences => {
    const seen = new Set<string>()
    const shared = new Set<string>()
    for (const { name } of fences) (seen.has(name) ? shared : seen).add(name)
    return new Map(
      fences
        .filter(({ name }) => shared.has(name))
        .map(({ _id, hubId, shape }) => {
          const hub = hubs.find(({ id }) => id === hubId)?.name
          return [_id, [hub, say(shape)].filter(Boolean).join(' · ')]
        }),
    )
  }
}
