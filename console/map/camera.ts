import type { JumpToOptions, Map as MapLibre } from 'maplibre-gl'

const GLIDE_MS = 500
/** With frames slower than this the map does not glide: a click would wait behind each of them. */
const SLOW_FRAME_MS = 60
const JUDGED_AFTER_MS = 150
/** After this time the map glides again, in case the machine was only busy. */
const JUMPS_FOR_MS = 60_000

/**
 * Moves the map to a place. It glides where this machine draws fluently, and jumps where it does not. Without a graphics card
 * (`isSoftware`) it always jumps.
 */
export function createCamera(map: MapLibre, isSoftware: boolean) {
  let jumpsUntil = isSoftware ? Number.POSITIVE_INFINITY : 0
  return (target: JumpToOptions, glides = true) => {
    const begun = performance.now()
    if (!glides || begun < jumpsUntil) return map.jumpTo(target)
    let frames = 0
    const judge = () => {
      const now = performance.now()
      if (now - begun < Math.max(JUDGED_AFTER_MS, ++frames * SLOW_FRAME_MS)) return
      jumpsUntil = now + JUMPS_FOR_MS
      map.jumpTo(target)
    }
    // Ends the previous move first, so that its `moveend` is not taken for this one's.
    map.stop()
    map.on('render', judge)
    map.once('moveend', () => map.off('render', judge))
    map.easeTo({ ...target, duration: GLIDE_MS })
  }
}
