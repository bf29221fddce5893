import type { FeatureCollection } from 'geojson'
import type { GeoJSONSource, LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import type { Fleet } from '../../live/fleet.ts'
import { readMapColors } from '../../map/colors.ts'
import { shortWay } from '../../map/geometry.ts'

const DRAWN_EVERY_MS = 1_000

interface Point {
  lat: number
  lng: number
  timestamp: string
}

/** Draws the trail of a subject below the markers, and extends it with each fix. */
export function showTrail(map: MapLibre, points: readonly Point[], fleet: Fleet, subjectId: string | null) {
  const line: [number, number][] = []
  /** Longitudes continue beyond 180 at the meridian. */
  const goOn = ({ lat, lng }: Pick<Point, 'lat' | 'lng'>) => {
    const before = line.at(-1)?.[0] ?? lng
    line.push([before + shortWay(lng - before), lat])
  }
  for (const point of points) goOn(point)
  let newest = points.at(-1)?.timestamp ?? ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const describe = (): FeatureCollection => ({
    type: 'FeatureCollection',
    features:
      line.length > 0
        ? [{ type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates: line } }]
        : [],
  })
  const layer = showLayer(map, 'trail', describe, () => ({
    id: 'trail',
    type: 'line',
    source: 'trail',
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: { 'line-color': readMapColors().trail, 'line-width': 3, 'line-opacity': 0.65 },
  }))
  const unlisten = fleet.onChange(() => {
    const position = subjectId && points.length > 0 ? fleet.find(subjectId) : undefined
    if (!position || position.timestamp <= newest) return
    newest = position.timestamp
    goOn(position)
    timer ??= setTimeout(() => {
      timer = undefined
      layer.update()
    }, DRAWN_EVERY_MS)
  })
  return () => {
    unlisten()
    clearTimeout(timer)
    layer.close()
  }
}

/** The sources with data. Empty ones are not added, as the map would load tiles and draw for each of them. */
const filled = new WeakSet<object>()

/** Adds layers with their data, now and again whenever the style is replaced. */
export function showLayer(
  map: MapLibre,
  name: string,
  data: () => FeatureCollection,
  describe: () => LayerSpecification | LayerSpecification[],
  /** In pixels of a tile of 512: simplifying by this is not visible. */
  tolerance = 0.375,
) {
  const show = () => {
    // Each picture added to the style, one for each of 2,000 names, fires this event.
    if (map.getSource(name)) return
    const first = data()
    if (first.features.length === 0) return
    map.addSource(name, { type: 'geojson', data: first, tolerance })
    filled.add(map.getSource(name) as GeoJSONSource)
    for (const layer of [describe()].flat()) map.addLayer(layer)
  }
  const update = () => {
    const source = map.getSource(name) as GeoJSONSource | undefined
    if (source) {
      const next = data()
      if (next.features.length === 0 && !filled.has(source)) return
      if (next.features.length === 0) filled.delete(source)
      else filled.add(source)
      return void source.setData(next)
    }
    try {
      show()
    } catch {
      // The style is not loaded yet: its event follows.
    }
  }
  update()
  map.on('styledata', show)
  return { update, close: () => map.off('styledata', show) }
}
