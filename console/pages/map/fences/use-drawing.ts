import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useMemo, useRef, useState } from 'react'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { isBlank, type ShapeDraft, shapeOf } from './draft.ts'
import { type Drawing, openDrawing } from './drawing.ts'
import type { Corner } from './handles.ts'
import { goToFence } from './view.ts'

/** The pause in typing after which the map moves to the shape. */
const REST_MS = 600

interface Heard {
  onShape: (shape: Shape) => void
  onFewest: () => void
}

/**
 * Keeps the map and a draft the same: a complete shape can be changed on the map, an incomplete one shows the shape before
 * it, and without input a new shape is drawn.
 */
export function useDrawing(map: MapLibre | null, draft: ShapeDraft, heard: Heard) {
  const drawing = useRef<Drawing | null>(null)
  const latest = useRef(heard)
  latest.current = heard
  const shape = useMemo(() => shapeOf(draft), [draft])
  const [last, setLast] = useState(shape)
  if (shape && shape !== last) setLast(shape)
  if (last && isBlank(draft)) setLast(null)
  const { kind } = draft
  const stale = !shape && last?.type === kind ? last : null
  /** An unfinished shape survives its map, as typed input does. */
  const [half, setHalf] = useState<{ kind: Shape['type']; corners: readonly Corner[] } | null>(null)
  const latestKind = useRef(kind)
  latestKind.current = kind
  const latestHalf = useRef(half)
  latestHalf.current = half
  if (half && (shape || stale || half.kind !== kind)) setHalf(null)
  const isDrawn = useRef(false)
  useEffect(() => {
    if (!map) return
    const opened = openDrawing(
      map,
      shape => {
        isDrawn.current = true
        latest.current.onShape(shape)
      },
      () => latest.current.onFewest(),
      corners => setHalf(corners.length > 0 ? { kind: latestKind.current, corners } : null),
    )
    drawing.current = opened
    return () => {
      drawing.current = null
      opened.close()
    }
  }, [map])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another map has another drawing
  useEffect(() => {
    if (shape) drawing.current?.show(shape)
    else if (stale) drawing.current?.show(stale, true)
    else drawing.current?.begin(kind, latestHalf.current?.corners)
  }, [map, shape, stale, kind])
  /** The shape at the last time that it was visible. */
  const seen = useRef(shape)
  useEffect(() => {
    if (!map || !shape || shape === seen.current) return
    const see = () => {
      const before = seen.current
      seen.current = shape
      return before
    }
    if (isDrawn.current) {
      isDrawn.current = false
      see()
      return
    }
    const timer = setTimeout(() => goToFence(map, shape, changedOf(shape, see())), REST_MS)
    return () => clearTimeout(timer)
  }, [map, shape])
  return { drawing, shape, isStale: stale !== null, isHalf: half !== null }
}

/** The corners that are new. */
function changedOf(shape: Shape, before: Shape | null): [number, number][] {
  const known = new Set(before ? ringOf(before).map(String) : [])
  return ringOf(shape).filter(corner => !known.has(String(corner)))
}
