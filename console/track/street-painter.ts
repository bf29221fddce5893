import type { MapColors } from '../map/colors.ts'
import { readTheme, TONES } from '../map/tones.ts'
import { AREAS, type Area, LEVELS, type Level, ROADS, type Road, type StreetTile } from './street-tile.ts'

/** A tile, where it is drawn in pixels of the page. */
export interface PlacedTile {
  tile: StreetTile
  left: number
  top: number
  size: number
}

/** Pixels by zoom. Between two zooms the width grows by the same factor with each. */
const WIDTHS: Readonly<Record<Road, readonly (readonly [zoom: number, px: number])[]>> = {
  ferry: [[8, 1]],
  path: [
    [14, 0.8],
    [16, 1.6],
    [18, 4],
  ],
  service: [
    [13, 0.5],
    [15, 1.8],
    [16, 4],
    [18, 12],
  ],
  minor: [
    [11, 0.3],
    [13, 1],
    [14, 2],
    [15, 4.5],
    [16, 8],
    [18, 22],
  ],
  link: [
    [11, 0.6],
    [14, 2.4],
    [16, 6],
    [18, 18],
  ],
  tertiary: [
    [9, 0.4],
    [12, 1.2],
    [14, 3],
    [15, 5.5],
    [16, 9],
    [18, 24],
  ],
  major: [
    [6, 0.5],
    [10, 1.2],
    [12, 2.2],
    [14, 4.2],
    [16, 11],
    [18, 27],
  ],
  highway: [
    [4, 0.6],
    [8, 1.6],
    [12, 3.4],
    [14, 5.5],
    [16, 13],
    [18, 30],
  ],
  rail: [
    [10, 0.4],
    [14, 1],
    [18, 2.4],
  ],
}
const CASED: readonly Road[] = ['service', 'minor', 'link', 'tertiary', 'major', 'highway']
/** A thinner road has no casing. */
const CASED_FROM_PX = 1.6
const BUILDINGS_FROM_ZOOM = 14.5
const RAILS_PX = [5, 5]
const DASH_PX = [5, 3]

export function widthOf(road: Road, zoom: number): number {
  const stops = WIDTHS[road]
  const next = stops.findIndex(([from]) => zoom < from)
  const [from, px] = stops[next === -1 ? stops.length - 1 : Math.max(0, next - 1)] as readonly [
    number,
    number,
  ]
  const [to, wider] = stops[next] ?? [from, px]
  if (to <= from) return px
  return px * (wider / px) ** ((zoom - from) / (to - from))
}

/** Draws areas, buildings and roads of all tiles kind by kind, so that no tile covers what continues into another one. */
export function paintTiles(
  pen: CanvasRenderingContext2D,
  placed: readonly PlacedTile[],
  { zoom, ratio, colors }: { zoom: number; ratio: number; colors: MapColors },
): void {
  const tones = TONES[readTheme()]
  const areaColors: Readonly<Record<Area, string>> = {
    industrial: tones.industrial,
    school: tones.school,
    hospital: tones.hospital,
    park: tones.park_b,
    wood: tones.wood_b,
    scrub: tones.scrub_b,
    beach: tones.beach,
    pedestrian: tones.pedestrian,
    water: colors.water,
    land: colors.land,
  }
  const fills: Readonly<Record<Road, string>> = {
    ferry: tones.ocean_label,
    path: tones.other,
    service: tones.minor_service,
    minor: tones.minor_a,
    link: tones.link,
    tertiary: tones.minor_b,
    major: tones.major,
    highway: tones.highway,
    rail: tones.railway,
  }
  const casings: Readonly<Partial<Record<Road, string>>> = {
    service: tones.minor_service_casing,
    minor: tones.minor_casing,
    link: tones.link_casing,
    tertiary: tones.minor_casing,
    major: tones.major_casing_late,
    highway: tones.highway_casing_late,
  }

  /** Draws a part of each tile. Widths are in pixels. */
  function each(draw: (tile: StreetTile, px: number) => void): void {
    for (const { tile, left, top, size } of placed) {
      pen.setTransform(ratio * size, 0, 0, ratio * size, ratio * left, ratio * top)
      draw(tile, 1 / size)
    }
  }
  function fillArea(area: Area, pathOf: (tile: StreetTile) => Path2D | undefined): void {
    pen.fillStyle = areaColors[area]
    each(tile => {
      const path = pathOf(tile)
      if (path) pen.fill(path)
    })
  }
  function stroke(level: Level, road: Road, color: string, width: number, dash: readonly number[] = []) {
    pen.strokeStyle = color
    each(({ roads }, px) => {
      const path = roads[level].get(road)
      if (!path) return
      pen.lineWidth = width * px
      pen.setLineDash(dash.map(length => length * px))
      pen.stroke(path)
    })
  }
  function strokeCasings(level: Level): void {
    pen.lineCap = level === 'ground' ? 'round' : 'butt'
    for (const road of CASED) {
      const width = widthOf(road, zoom)
      const color = casings[road]
      if (!color || width < CASED_FROM_PX) continue
      stroke(level, road, color, width + (zoom < 15 ? 1.4 : 2), level === 'tunnel' ? DASH_PX : [])
    }
  }
  function strokeRoads(level: Level): void {
    pen.globalAlpha = level === 'tunnel' ? 0.5 : 1
    for (const road of ROADS) {
      pen.lineCap = road === 'rail' || road === 'ferry' || road === 'path' ? 'butt' : 'round'
      const dash = road === 'rail' ? RAILS_PX : road === 'ferry' || road === 'path' ? DASH_PX : []
      stroke(level, road, fills[road], widthOf(road, zoom), dash)
    }
    pen.globalAlpha = 1
  }

  pen.lineJoin = 'round'
  // Land is drawn twice: under everything, and as what reaches into the water.
  fillArea('land', ({ areas }) => areas.get('land'))
  for (const area of AREAS.filter(one => one !== 'land')) fillArea(area, ({ areas }) => areas.get(area))
  pen.strokeStyle = colors.water
  each(({ rivers }, px) => {
    pen.lineWidth = Math.max(1, widthOf('minor', zoom) * 0.6) * px
    pen.stroke(rivers)
  })
  if (zoom >= BUILDINGS_FROM_ZOOM) {
    // Buildings have parts, and tiles overlap: a colour that let the ground through would be darker there.
    const strength = Math.min(0.7, 0.25 + (zoom - BUILDINGS_FROM_ZOOM) * 0.5)
    pen.fillStyle = mix(colors.land, tones.buildings, strength)
    each(({ buildings }) => pen.fill(buildings))
  }
  for (const level of LEVELS) {
    strokeCasings(level)
    strokeRoads(level)
  }
  pen.setLineDash([])
}

/** A colour between two of the form `#rrggbb`, or `#rgb` as minified style sheets have it. */
function mix(from: string, to: string, share: number): string {
  const [a, b] = [toBytes(from), toBytes(to)]
  return `rgb(${a.map((value, index) => Math.round(value + ((b[index] ?? value) - value) * share)).join(' ')})`
}

const toBytes = (color: string): number[] =>
  (color.length === 4 ? [...color.slice(1)].map(digit => digit + digit) : (color.match(/\w\w/g) ?? [])).map(
    digits => Number.parseInt(digits, 16),
  )
