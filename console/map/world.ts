import type { Feature, FeatureCollection } from 'geojson'
import type { Map as MapLibre, StyleSpecification } from 'maplibre-gl'
import type { MapColors } from './colors.ts'

/** From this zoom on the coarse outlines look coarse. */
const FINE_FROM_ZOOM = 1.5
/** Beyond this zoom the outlines show nothing new, so no further tiles are made. */
const WORLD_MAX_ZOOM = 10

/** Adds the outlines of the world and a grid, which come with the console. */
export async function addWorld(style: StyleSpecification, colors: MapColors): Promise<void> {
  style.sources.world = {
    type: 'geojson',
    data: await readWorld('coarse'),
    tolerance: 0.2,
    maxzoom: WORLD_MAX_ZOOM,
  }
  style.sources.grid = { type: 'geojson', data: { type: 'FeatureCollection', features: [] } }
  style.layers.push(
    {
      id: 'ground',
      type: 'fill',
      source: 'world',
      paint: {
        'fill-color': ['case', ['has', 'sea'], colors.water, colors.land],
        'fill-antialias': false,
      },
    },
    {
      id: 'country-outlines',
      type: 'line',
      source: 'world',
      filter: ['!', ['has', 'sea']],
      paint: { 'line-color': colors.border, 'line-width': 0.8 },
    },
    { id: 'grid', type: 'line', source: 'grid', paint: { 'line-color': colors.grid, 'line-width': 1 } },
  )
}

/** Loads finer outlines when the map is zoomed in, and draws a grid that makes movements visible where there are no roads. */
export function refineWorld(map: MapLibre): () => void {
  /** The style of another theme begins with coarse outlines again. */
  let refined: unknown
  /** The server was away: the next zoom tries again. */
  const forget = () => {
    refined = undefined
  }
  const refine = () => {
    refineGrid()
    const world = map.getSource('world')
    if (!world || world === refined || map.getZoom() < FINE_FROM_ZOOM) return
    refined = world
    void readWorld('fine').then(data => {
      if (world && 'setData' in world) (world as { setData(data: FeatureCollection): void }).setData(data)
    }, forget)
  }
  let grid: { source: unknown; step: number; around: Bounds } | undefined
  /** The grid reaches beyond the view, and is drawn again when the view leaves it. */
  const refineGrid = () => {
    const source = map.getSource('grid')
    if (!source || !('setData' in source)) return
    const seen = boundsOf(map)
    const step = stepOf(seen)
    if (grid?.source === source && grid.step === step && contains(grid.around, seen)) return
    grid = { source, step, around: widen(seen) }
    ;(source as { setData(data: FeatureCollection): void }).setData(gridOf(grid.around, step))
  }
  map.on('moveend', refine)
  map.on('styledata', refine)
  return () => {
    map.off('moveend', refine)
    map.off('styledata', refine)
  }
}

async function readWorld(detail: 'coarse' | 'fine'): Promise<FeatureCollection> {
  const { readOutlines } = await import('./outlines.ts')
  const { features, ...world } = await readOutlines(detail)
  return { ...world, features: [SEA, ...features] }
}

/** The sea lies below the land and appears together with it: until then no area looks like water. */
const SEA: Feature = {
  type: 'Feature',
  properties: { sea: true },
  geometry: {
    type: 'Polygon',
    coordinates: [
      [
        [-180, -90],
        [180, -90],
        [180, 90],
        [-180, 90],
        [-180, -90],
      ],
    ],
  },
}

const STEPS = [30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
const LINES_ACROSS = 7
const MAX_LAT = 85

interface Bounds {
  west: number
  east: number
  south: number
  north: number
}

function boundsOf(map: MapLibre): Bounds {
  const bounds = map.getBounds()
  return {
    west: bounds.getWest(),
    east: bounds.getEast(),
    south: Math.max(-MAX_LAT, bounds.getSouth()),
    north: Math.min(MAX_LAT, bounds.getNorth()),
  }
}

/** Widens the bounds by their own size to each side. */
function widen({ west, east, south, north }: Bounds): Bounds {
  const [across, up] = [east - west, north - south]
  return {
    west: west - across,
    east: east + across,
    south: Math.max(-MAX_LAT, south - up),
    north: Math.min(MAX_LAT, north + up),
  }
}

const contains = (one: Bounds, other: Bounds) =>
  other.west >= one.west && other.east <= one.east && other.south >= one.south && other.north <= one.north

const stepOf = ({ west, east }: Bounds) =>
  STEPS.find(one => (east - west) / one >= LINES_ACROSS) ?? (STEPS.at(-1) as number)

/** Meridians and parallels at round degrees, several across the screen. */
function gridOf({ west, east, south, north }: Bounds, step: number): FeatureCollection {
  const lines: [number, number][][] = []
  for (let lng = Math.ceil(west / step) * step; lng <= east; lng += step)
    lines.push([
      [lng, south],
      [lng, north],
    ])
  for (let lat = Math.ceil(south / step) * step; lat <= north; lat += step)
    lines.push([
      [west, lat],
      [east, lat],
    ])
  return {
    type: 'FeatureCollection',
    features: lines.map(coordinates => ({
      type: 'Feature',
      properties: {},
      geometry: { type: 'LineString', coordinates },
    })),
  }
}
