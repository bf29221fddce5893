import type { JumpToOptions, Map as MapLibre } from 'maplibre-gl'

const GLIDE_MS = 500
/** With fewer frames than one in so long nothing glides, and whoever clicks meanwhile waits behind each of them. */
const SLOW_FRAME_MS = 60
const JUDGED_AFTER_MS = 150
/** A machine that was busy for a moment glides again. */
const JUMPS_FOR_MS = 60_000

/**
 * Goes to places: it glides where this machine draws the map fluently, and is simply there where it does not. Without a
 * graphics card (`isSoftware`) it never does.
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
    // What it was on its way to before ends before this is heard.
    map.stop()
    map.on('render', judge)
    map.once('moveend', () => map.off('render', judge))
    map.easeTo({ ...target, duration: GLIDE_MS })
  }
}
