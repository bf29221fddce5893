import type { FeatureCollection, MultiPolygon, Polygon, Position } from 'geojson'
import { feature } from 'topojson-client'
import { unpackArcs } from './arcs.ts'

/** Antarctica surrounds the pole along the edge of the map. */
const POLE_LAT = -85

/** The countries of the world. Those on both sides of the 180th meridian continue beyond it. */
export async function readOutlines(detail: 'coarse' | 'fine'): Promise<FeatureCollection> {
  const { default: world } = await (detail === 'coarse'
    ? import('world-atlas/countries-110m.json')
    : import('world-atlas/countries-50m.json'))
  // The build packs the arcs.
  const { arcs, ...rest } = world as unknown as { arcs: string }
  const topology = { ...rest, arcs: unpackArcs(arcs) } as unknown as Parameters<typeof feature>[0]
  const collection = feature(topology, topology.objects.countries as never) as unknown as FeatureCollection
  for (const { geometry } of collection.features) {
    for (const polygon of polygonsOf(geometry as Polygon | MultiPolygon)) polygon.forEach(unwrap)
  }
  return collection
}

const polygonsOf = (geometry: Polygon | MultiPolygon): Position[][][] =>
  geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates

/** Takes each step of a ring the short way round the world. */
function unwrap(ring: Position[]): void {
  if (ring.some(position => (position[1] as number) < POLE_LAT)) return
  let turns = 0
  let before = ring[0]?.[0] as number
  for (const position of ring) {
    const lng = position[0] as number
    if (lng - before > 180) turns -= 360
    else if (before - lng > 180) turns += 360
    before = lng
    position[0] = lng + turns
  }
}
