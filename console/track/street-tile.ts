import { VectorTile, type VectorTileFeature, type VectorTileLayer } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'

/** In the order in which they are drawn. */
export const AREAS = [
  'industrial',
  'school',
  'hospital',
  'park',
  'wood',
  'scrub',
  'beach',
  'water',
  'pedestrian',
  'land',
] as const
export type Area = (typeof AREAS)[number]

/** In the order in which they are drawn. */
export const ROADS = [
  'ferry',
  'path',
  'service',
  'minor',
  'link',
  'tertiary',
  'major',
  'highway',
  'rail',
] as const
export type Road = (typeof ROADS)[number]

/** The kinds of the Protomaps schema: https://docs.protomaps.com/basemaps/layers */
const AREA_OF: Readonly<Record<string, Area>> = {
  industrial: 'industrial',
  railway: 'industrial',
  aerodrome: 'industrial',
  school: 'school',
  university: 'school',
  college: 'school',
  kindergarten: 'school',
  hospital: 'hospital',
  park: 'park',
  national_park: 'park',
  nature_reserve: 'park',
  protected_area: 'park',
  cemetery: 'park',
  golf_course: 'park',
  garden: 'park',
  playground: 'park',
  recreation_ground: 'park',
  village_green: 'park',
  allotments: 'park',
  dog_park: 'park',
  zoo: 'park',
  pitch: 'park',
  wood: 'wood',
  forest: 'wood',
  scrub: 'scrub',
  grass: 'scrub',
  grassland: 'scrub',
  meadow: 'scrub',
  farmland: 'scrub',
  orchard: 'scrub',
  beach: 'beach',
  sand: 'beach',
  pedestrian: 'pedestrian',
  platform: 'pedestrian',
  runway: 'pedestrian',
  pier: 'land',
}

/** Something that is named along its line. Places are in shares of the tile. */
export interface LineName {
  text: string
  kind: Road
  line: Float32Array
}

/** Something that is named at its point. */
export interface PointName {
  text: string
  kind: 'town' | 'quarter' | 'water' | 'house'
  x: number
  y: number
  /** A city of ten million people has 14. */
  rank: number
  minZoom: number
}

/** A tile as it is drawn: paths in shares of its width. */
export interface StreetTile {
  areas: Map<Area, Path2D>
  buildings: Path2D
  rivers: Path2D
  /** By their kind, those in tunnels, on the ground and on bridges. */
  roads: Readonly<Record<Level, Map<Road, Path2D>>>
  /** The numbers of highways. */
  shields: LineName[]
  lineNames: LineName[]
  pointNames: PointName[]
}

export const LEVELS = ['tunnel', 'ground', 'bridge'] as const
export type Level = (typeof LEVELS)[number]

const POINT = 1
const LINE = 2
const AREA = 3
/** A longer number is a list of several. */
const MAX_SHIELD = 5

/** Reads a tile. A name is that of the language where the tile has it. */
export function readStreetTile(bytes: Uint8Array, language: string): StreetTile {
  const tile: StreetTile = {
    areas: new Map(),
    buildings: new Path2D(),
    rivers: new Path2D(),
    roads: { tunnel: new Map(), ground: new Map(), bridge: new Map() },
    shields: [],
    lineNames: [],
    pointNames: [],
  }
  const { layers } = new VectorTile(new PbfReader(bytes))
  const textOf = ({ properties }: VectorTileFeature) =>
    String(properties[`name:${language}`] ?? properties.name ?? '').trim()

  for (const feature of featuresOf(layers.earth)) {
    if (feature.type === AREA) trace(feature, pathOf(tile.areas, 'land'))
  }
  for (const feature of featuresOf(layers.landuse)) {
    const area = AREA_OF[String(feature.properties.kind)]
    if (area && feature.type === AREA) trace(feature, pathOf(tile.areas, area))
  }
  for (const feature of featuresOf(layers.water)) {
    if (feature.type === AREA) trace(feature, pathOf(tile.areas, 'water'))
    else if (feature.type === LINE) trace(feature, tile.rivers)
    else addPointName(tile, feature, textOf(feature), 'water')
  }
  for (const feature of featuresOf(layers.roads)) addRoad(tile, feature, textOf(feature))
  for (const feature of featuresOf(layers.buildings)) {
    const { kind, addr_housenumber: number } = feature.properties
    if (feature.type === AREA) trace(feature, tile.buildings)
    else if (kind === 'address' && number) addPointName(tile, feature, String(number), 'house')
  }
  for (const feature of featuresOf(layers.places)) {
    const { kind } = feature.properties
    if (kind === 'locality') addPointName(tile, feature, textOf(feature), 'town')
    else if (kind === 'macrohood' || kind === 'neighbourhood')
      addPointName(tile, feature, textOf(feature), 'quarter')
  }
  return tile
}

function* featuresOf(layer: VectorTileLayer | undefined): Generator<VectorTileFeature> {
  for (let index = 0; index < (layer?.length ?? 0); index++)
    yield (layer as VectorTileLayer).feature(index) as VectorTileFeature
}

function pathOf<Kind>(paths: Map<Kind, Path2D>, kind: Kind): Path2D {
  const path = paths.get(kind) ?? new Path2D()
  paths.set(kind, path)
  return path
}

function trace(feature: VectorTileFeature, path: Path2D): void {
  const { extent, type } = feature
  for (const line of feature.loadGeometry()) {
    for (const [index, { x, y }] of line.entries()) {
      if (index === 0) path.moveTo(x / extent, y / extent)
      else path.lineTo(x / extent, y / extent)
    }
    if (type === AREA) path.closePath()
  }
}

function addRoad(tile: StreetTile, feature: VectorTileFeature, text: string): void {
  if (feature.type !== LINE) return
  const { properties, extent } = feature
  const kind = roadOf(properties)
  if (!kind) return
  const level = properties.is_tunnel ? 'tunnel' : properties.is_bridge ? 'bridge' : 'ground'
  trace(feature, pathOf(tile.roads[level], kind))
  const shield = String(properties.shield_text ?? '')
  const isNamed = text !== '' && kind !== 'link' && kind !== 'rail'
  const isNumbered = shield !== '' && shield.length <= MAX_SHIELD && kind !== 'link'
  if (!isNamed && !isNumbered) return
  for (const points of feature.loadGeometry()) {
    const line = Float32Array.from(points.flatMap(({ x, y }) => [x / extent, y / extent]))
    if (isNamed) tile.lineNames.push({ text, kind, line })
    if (isNumbered) tile.shields.push({ text: shield, kind, line })
  }
}

function roadOf({
  kind,
  kind_detail: detail,
  is_link: isLink,
}: VectorTileFeature['properties']): Road | null {
  if (isLink) return 'link'
  if (kind === 'highway' || kind === 'rail' || kind === 'ferry' || kind === 'path') return kind
  if (kind === 'major_road') return detail === 'tertiary' ? 'tertiary' : 'major'
  if (kind === 'minor_road') return detail === 'service' ? 'service' : 'minor'
  return kind === 'other' ? 'path' : null
}

function addPointName(
  tile: StreetTile,
  feature: VectorTileFeature,
  text: string,
  kind: PointName['kind'],
): void {
  const [point] = feature.type === POINT ? (feature.loadGeometry()[0] ?? []) : []
  if (!point || text === '') return
  const { population_rank: rank, min_zoom: minZoom } = feature.properties
  const { extent } = feature
  tile.pointNames.push({
    text,
    kind,
    x: point.x / extent,
    y: point.y / extent,
    rank: Number(rank) || 0,
    minZoom: Number(minZoom) || 0,
  })
}
