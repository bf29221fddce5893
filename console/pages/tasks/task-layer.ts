import type { Map as MapLibre } from 'maplibre-gl'
import { readMapColors } from '../../map/colors.ts'
import { shortWay } from '../../map/geometry.ts'
import { showLayer } from '../map/trail-layer.ts'

export interface Route {
  color: number
  line: [lng: number, lat: number][]
}

/** Draws the ways from task to task, dashed: they are an order, and no streets. */
export function showRoutes(map: MapLibre, routes: readonly Route[]): () => void {
  const layer = showLayer(
    map,
    'task-routes',
    () => ({
      type: 'FeatureCollection',
      features: routes.map(({ color, line }) => ({
        type: 'Feature',
        properties: { color: readMapColors().tracks[color] },
        geometry: { type: 'LineString', coordinates: unwrap(line) },
      })),
    }),
    () => ({
      id: 'task-routes',
      type: 'line',
      source: 'task-routes',
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': ['get', 'color'], 'line-width': 2.5, 'line-dasharray': [1, 2] },
    }),
  )
  return () => void layer.close()
}

/** Longitudes that go on beyond 180, so that a way over the meridian is short. */
function unwrap(line: Route['line']): [number, number][] {
  const way: [number, number][] = []
  for (const [lng, lat] of line) {
    const before = way.at(-1)?.[0] ?? lng
    way.push([before + shortWay(lng - before), lat])
  }
  return way
}

/** Keeps the pins, which are buttons, at their places while the map moves. */
export function placePins(map: MapLibre, list: HTMLElement): () => void {
  const place = () => {
    const middle = map.getCenter().lng
    for (const pin of list.children as HTMLCollectionOf<HTMLElement>) {
      const { lat, lng } = pin.dataset
      const { x, y } = map.project([middle + shortWay(Number(lng) - middle), Number(lat)])
      pin.style.translate = `${x}px ${y}px`
    }
  }
  place()
  map.on('move', place)
  map.on('resize', place)
  return () => {
    map.off('move', place)
    map.off('resize', place)
  }
}
