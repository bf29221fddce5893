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

/** Where something was, as a line below the markers that grows with its fixes. */
export function showTrail(map: MapLibre, points: readonly Point[], fleet: Fleet, subjectId: string | null) {
  const line: [number, number][] = []
  /** Longitudes go on beyond 180 where it crosses there. */
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

/** The sources with something in them. What is empty and stays so is not there: for each the map would load tiles, and be drawn. */
const filled = new WeakSet<object>()

/** Layers with their data, now and again whenever the style below it is another. */
export function showLayer(
  map: MapLibre,
  name: string,
  data: () => FeatureCollection,
  describe: () => LayerSpecification | LayerSpecification[],
  /** Of a tile of 512 pixels: what is simpler by this looks the same. */
  tolerance = 0.375,
) {
  const show = () => {
    // Every picture that is added to the style calls this: of 2,000 names each one.
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
      // There is no style yet: it says when.
    }
  }
  update()
  map.on('styledata', show)
  return { update, close: () => map.off('styledata', show) }
}
