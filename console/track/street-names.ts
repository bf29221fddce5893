import type { MapColors } from '../map/colors.ts'
import { readTheme, TONES } from '../map/tones.ts'
import { fromRem } from '../parts/rem.ts'
import { findStretches, type Letter, lettersOn, type Stretch } from './name-line.ts'
import { createRoom, type Room } from './name-room.ts'
import { type PlacedTile, widthOf } from './street-painter.ts'
import type { LineName, PointName, Road } from './street-tile.ts'

/** So far apart a street or number is named again. */
const AGAIN_AFTER_PX = 280
const TOWNS_UNTIL_ZOOM = 15
const QUARTERS = { from: 11.5, until: 16.5 }
const HOUSES_FROM_ZOOM = 16.5
const HALO_PX = 3
/** Longer names of places stand in two lines. */
const ONE_LINE = 12
const MAX_NAMES = 400
/** Letters that are drawn one by one are none of those that join. */
const SEPARABLE =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Han}\p{N}\p{P}\p{Z}\p{S}]+$/u

const ROAD_RANK: Readonly<Record<Road, number>> = {
  highway: 0,
  major: 1,
  tertiary: 2,
  minor: 3,
  link: 4,
  service: 5,
  path: 6,
  ferry: 7,
  rail: 8,
}

const NAMED_FROM_ZOOM: Readonly<Record<Road, number>> = {
  highway: 10,
  major: 11,
  tertiary: 13,
  minor: 14.2,
  link: 15,
  service: 15.5,
  path: 16,
  ferry: 13,
  rail: 15,
}

interface Sight {
  zoom: number
  width: number
  height: number
  colors: MapColors
}

/** Writes names along streets and at places, the important ones first; none covers another. */
export function writeNames(pen: CanvasRenderingContext2D, placed: readonly PlacedTile[], sight: Sight): void {
  const { zoom, width, height, colors } = sight
  const tones = TONES[readTheme()]
  const room = createRoom(width, height)
  const family = getComputedStyle(document.body).fontFamily
  const rem = fromRem(1)
  const fontOf = (size: number, weight: number, style = '') => `${style} ${weight} ${size * rem}px ${family}`
  let left = MAX_NAMES
  pen.textAlign = 'center'
  pen.textBaseline = 'middle'
  pen.lineJoin = 'round'
  pen.miterLimit = 2

  const points = placed.flatMap(({ tile, left, top, size }) =>
    tile.pointNames.map(name => ({ name, x: left + name.x * size, y: top + name.y * size })),
  )
  const pointsOf = (kind: PointName['kind']) =>
    points
      .filter(({ name }) => name.kind === kind && name.minZoom <= zoom + 1)
      .sort((a, b) => b.name.rank - a.name.rank || a.name.minZoom - b.name.minZoom)
  const lines = placed.flatMap(({ tile, left, top, size }) =>
    tile.lineNames.map(name => ({ name, line: toPixels(name.line, left, top, size) })),
  )

  function write(text: string, x: number, y: number, color: string, halo: string): void {
    pen.lineWidth = HALO_PX
    pen.strokeStyle = halo
    pen.strokeText(text, x, y)
    pen.fillStyle = color
    pen.fillText(text, x, y)
  }

  /** A name at its point, in up to two lines. */
  function writeAt(
    { x, y }: { x: number; y: number },
    text: string,
    fontPx: number,
    color: string,
    halo: string,
  ) {
    if (left === 0 || !isShown(x, y)) return
    const rows = rowsOf(text)
    const wide = Math.max(...rows.map(row => pen.measureText(row).width)) + 8
    const high = rows.length * fontPx * 1.2 + 4
    if (!room.take([{ x: x - wide / 2, y: y - high / 2, width: wide, height: high }])) return
    left--
    for (const [index, row] of rows.entries())
      write(row, x, y + (index - (rows.length - 1) / 2) * fontPx * 1.2, color, halo)
  }

  const seen = new Map<string, { x: number; y: number }[]>()
  const isNear = (text: string, x: number, y: number) =>
    seen.get(text)?.some(other => Math.hypot(other.x - x, other.y - y) < AGAIN_AFTER_PX) === true
  const note = (text: string, x: number, y: number) => seen.set(text, [...(seen.get(text) ?? []), { x, y }])

  const isShown = (x: number, y: number) => x > 0 && y > 0 && x < width && y < height

  function writeAlong(
    { text, kind }: LineName,
    line: Float32Array,
    size: number,
    color: string,
    halo: string,
  ) {
    const needed = pen.measureText(text).width + size
    const high = Math.max(size * 1.3, Math.min(size * 2, widthOf(kind, zoom)))
    for (const found of findStretches(line, needed, SEPARABLE.test(text), isShown)) {
      if (left === 0) return
      if (isNear(text, found.x, found.y) || !room.take(boxesAlong(found.points, high))) continue
      left--
      note(text, found.x, found.y)
      drawAlong(text, found, color, halo)
    }
  }

  function drawAlong(text: string, stretch: Stretch, color: string, halo: string): void {
    const letters: Letter[] = stretch.isStraight
      ? [{ ...stretch, text }]
      : lettersOn(stretch, text, part => pen.measureText(part).width)
    pen.lineWidth = HALO_PX
    for (const [style, draw] of [
      [halo, 'strokeText'],
      [color, 'fillText'],
    ] as const) {
      pen.strokeStyle = pen.fillStyle = style
      for (const letter of letters) {
        pen.save()
        pen.translate(letter.x, letter.y)
        pen.rotate(letter.angle)
        pen[draw](letter.text, 0, 0)
        pen.restore()
      }
    }
  }

  /** The number of a highway on a plate. */
  function writeShield(text: string, line: Float32Array, size: number): void {
    const middle = Math.floor(line.length / 4) * 2
    const [x, y] = [line[middle] as number, line[middle + 1] as number]
    const key = `#${text.replace(/^\D+(?=\d)/, '')}`
    if (left === 0 || !isShown(x, y) || isNear(key, x, y)) return
    const [wide, high] = [pen.measureText(text).width + 9, size * 1.55]
    const box = { x: x - wide / 2, y: y - high / 2, width: wide, height: high }
    if (!room.take([box])) return
    left--
    note(key, x, y)
    pen.beginPath()
    pen.roundRect(box.x, box.y, wide, high, 3.5)
    pen.fillStyle = colors.land
    pen.fill()
    pen.lineWidth = 1
    pen.strokeStyle = tones.roads_label_minor
    pen.stroke()
    pen.fillStyle = tones.roads_label_major
    pen.fillText(text, x, y + 0.5)
  }

  if (zoom < TOWNS_UNTIL_ZOOM) {
    for (const { name, x, y } of pointsOf('town')) {
      const size = Math.min(1.3, 0.72 + name.rank * 0.04 + Math.max(0, zoom - 11) * 0.03)
      pen.font = fontOf(size, 600)
      writeAt({ x, y }, name.text, size * rem, tones.city_label, colors.labels.halo)
    }
  }
  const roads = lines
    .filter(({ name }) => zoom >= NAMED_FROM_ZOOM[name.kind])
    .sort((a, b) => ROAD_RANK[a.name.kind] - ROAD_RANK[b.name.kind] || b.line.length - a.line.length)
  const writeRoads = (isMajor: boolean) => {
    const size = isMajor ? 0.75 : 0.6875
    pen.font = fontOf(size, 500)
    for (const { name, line } of roads) {
      if (ROAD_RANK[name.kind] <= ROAD_RANK.major !== isMajor) continue
      const color = isMajor ? tones.roads_label_major : tones.roads_label_minor
      writeAlong(
        name,
        line,
        size * rem,
        color,
        isMajor ? tones.roads_label_major_halo : tones.roads_label_minor_halo,
      )
    }
  }
  pen.font = fontOf(0.625, 600)
  for (const { tile, left, top, size } of placed) {
    for (const { text, line } of tile.shields) writeShield(text, toPixels(line, left, top, size), 0.625 * rem)
  }
  writeRoads(true)
  if (zoom >= QUARTERS.from && zoom < QUARTERS.until) {
    pen.font = fontOf(0.6875, 600)
    pen.letterSpacing = '0.06em'
    for (const { name, x, y } of pointsOf('quarter'))
      writeAt({ x, y }, name.text.toUpperCase(), 0.6875 * rem, tones.subplace_label, colors.labels.halo)
    pen.letterSpacing = '0px'
  }
  writeRoads(false)
  pen.font = fontOf(0.75, 500, 'italic')
  for (const { name, x, y } of pointsOf('water'))
    writeAt({ x, y }, name.text, 0.75 * rem, tones.ocean_label, colors.water)
  if (zoom < HOUSES_FROM_ZOOM) return
  pen.font = fontOf(0.625, 400)
  for (const { name, x, y } of pointsOf('house'))
    writeAt({ x, y }, name.text, 0.625 * rem, tones.address_label, colors.labels.halo)
}

function toPixels(line: Float32Array, left: number, top: number, size: number): Float32Array {
  return line.map((share, index) => (index % 2 === 0 ? left : top) + share * size)
}

/** In two lines, cut at the space next to the middle. */
function rowsOf(text: string): string[] {
  const middle = text.length / 2
  const cuts = [...text.matchAll(/ /g)].map(({ index }) => index)
  const cut = cuts.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0]
  return text.length <= ONE_LINE || cut === undefined ? [text] : [text.slice(0, cut), text.slice(cut + 1)]
}

const boxesAlong = (points: readonly { x: number; y: number }[], high: number): Parameters<Room['take']>[0] =>
  points.map(({ x, y }) => ({ x: x - high / 2, y: y - high / 2, width: high, height: high }))
