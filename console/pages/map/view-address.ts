import type { Map as MapLibre } from 'maplibre-gl'

/** A view of the map as the address has it, in the form that OpenStreetMap uses: `#14/37.77490/-122.41940`. */
const VIEW = /^#(\d{1,2}(?:\.\d{1,2})?)\/(-?\d{1,2}(?:\.\d{1,5})?)\/(-?\d{1,3}(?:\.\d{1,5})?)$/
/** Browsers refuse more than 100 changes of the address in 10 s (Safari) or 200 in 30 s. */
const WRITE_AFTER_MS = 300

interface View {
  zoom: number
  center: [lng: number, lat: number]
}

export function readView(hash: string): View | null {
  const [zoom, lat, lng] = (VIEW.exec(hash) ?? []).slice(1).map(Number)
  if (zoom === undefined || lat === undefined || lng === undefined) return null
  return Math.abs(lat) > 90 || Math.abs(lng) > 180 ? null : { zoom, center: [lng, lat] }
}

/**
 * Keeps the view that somebody chose in the address, so that it survives a reload and can be sent to others. Views that the
 * page chose, such as the way to a subject, follow from the rest of the address.
 */
export function keepViewInAddress(map: MapLibre): { forget(): void; rewrite(): void; close(): void } {
  let hash = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const write = () => {
    // The address may have lost it by a change of the filters. The router keeps its state in the history entry.
    if (location.hash !== hash)
      history.replaceState(history.state, '', location.pathname + location.search + hash)
  }
  const onMoveEnd = (event: object) => {
    if (!('originalEvent' in event) || !event.originalEvent) return
    const { lat, lng } = map.getCenter().wrap()
    hash = `#${Number(map.getZoom().toFixed(2))}/${lat.toFixed(5)}/${lng.toFixed(5)}`
    clearTimeout(timer)
    timer = setTimeout(write, WRITE_AFTER_MS)
  }
  map.on('moveend', onMoveEnd)
  return {
    forget() {
      clearTimeout(timer)
      hash = ''
      write()
    },
    rewrite: () => void (hash !== '' && write()),
    close() {
      clearTimeout(timer)
      map.off('moveend', onMoveEnd)
    },
  }
}
