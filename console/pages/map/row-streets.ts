import { useMemo, useRef } from 'react'
import { useLive, useNow } from '../../live/live.tsx'
import { useDebounced } from '../../parts/use-debounced.ts'
import { cellOf, useCells } from '../places.ts'

/** More rows than a screen shows, and fewer than one request names. */
const MAX_ROWS = 60
/** Whoever moves is asked about again after this time. */
const AGAIN_EVERY_MS = 10_000
/** The words of rows that were visible before. */
const MAX_KEPT = 500

/** The streets of the visible rows alone, asked when they stand still for a moment. */
export function useStreets(visible: readonly string[]): (subjectId: string) => string {
  const { fleet } = useLive()
  const shown = useDebounced(visible.slice(0, MAX_ROWS).join())
  const tick = useNow(AGAIN_EVERY_MS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the fleet moves all the time, the clock says when to look
  const cells = useMemo(() => {
    const positions = shown.split(',').map(id => fleet.find(id))
    return new Map(positions.flatMap(one => (one ? [[one.subjectId, cellOf(one)] as const] : [])))
  }, [shown, tick, fleet])
  const placeOf = useCells([...cells.values()])
  /** The last street of each, until that of its new place is known. */
  const streets = useRef(new Map<string, string>())
  if (streets.current.size > MAX_KEPT) streets.current.clear()
  for (const [id, cell] of cells) {
    const place = placeOf(cell)
    if (place !== undefined) streets.current.set(id, place?.street ?? place?.town ?? '')
  }
  return id => streets.current.get(id) ?? ''
}
