import type { Map as MapLibre } from 'maplibre-gl'
import type { Fleet } from '../../live/fleet.ts'
import { toLngLat } from '../../map/mercator.ts'

/** A fleet has arrived when no new subject has come for this time, */
const QUIET_MS = 30_000
/** and at the latest this long after its first view. */
const LONGEST_MS = 120_000

/**
 * Calls `showAll` when new subjects are out of view, while the first positions of a fleet arrive: a map that nobody has touched
 * shows all of them, though the first view came with the first one. `known` is the number of subjects of that view. Ends with
 * the first touch. Returns a function that ends it as well.
 */
export function fitWhileArriving(
  map: MapLibre,
  fleet: Fleet,
  known: number,
  showAll: () => void,
): () => void {
  const begun = performance.now()
  let arrivedAt = begun
  let seen = known
  const look = () => {
    const now = performance.now()
    if (now - arrivedAt > QUIET_MS || now - begun > LONGEST_MS) return end()
    const { x, y } = fleet.columns
    const bounds = map.getBounds()
    let isAnyOut = false
    for (let slot = seen; slot < fleet.size; slot++)
      isAnyOut ||= !bounds.contains([...toLngLat(x[slot] as number, y[slot] as number)])
    if (fleet.size > seen) arrivedAt = now
    seen = fleet.size
    if (isAnyOut) showAll()
  }
  const onTouch = (event: object) => {
    if ('originalEvent' in event && event.originalEvent) end()
  }
  const leave = fleet.onChange(look)
  map.on('movestart', onTouch)
  function end(): void {
    leave()
    map.off('movestart', onTouch)
  }
  // Some may have come while this file was loaded.
  look()
  return end
}
