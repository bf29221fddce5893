import type { Map as MapLibre } from 'maplibre-gl'
import { fromRem } from '../parts/rem.ts'

/**
 * The measures of the style sheets: a panel with its margin; on a phone a sheet over a part of the map, or above a map that
 * is low.
 */
const PANEL_REM = 19.5
const PANEL_MARGIN_PX = 12
const PHONE = '(width <= 45em)'
const LOW = '(height <= 30em)'
const SHEET = 0.55
const SHEET_MARGIN_PX = 8
const AROUND_PX = 80

/** The part of a map that the open panel covers. */
export function coveredOf(map: MapLibre, isOpen = hasPanel(map)): { right: number; bottom: number } {
  if (!isOpen) return { right: 0, bottom: 0 }
  if (!window.matchMedia(PHONE).matches) return { right: fromRem(PANEL_REM) + PANEL_MARGIN_PX, bottom: 0 }
  if (window.matchMedia(LOW).matches) return { right: 0, bottom: 0 }
  return { right: 0, bottom: map.getContainer().clientHeight * SHEET + SHEET_MARGIN_PX }
}

/** The padding around an area that should be visible as a whole. */
export function paddingOf(map: MapLibre, isOpen?: boolean) {
  const { right, bottom } = coveredOf(map, isOpen)
  const { clientWidth, clientHeight } = map.getContainer()
  const around = Math.max(0, Math.min(AROUND_PX, (clientWidth - right) / 6, (clientHeight - bottom) / 6))
  return { top: around, left: around, right: around + right, bottom: around + bottom }
}

const hasPanel = (map: MapLibre) =>
  map.getContainer().closest('.map-area')?.querySelector('.panel') instanceof Element
