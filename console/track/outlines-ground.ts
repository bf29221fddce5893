import type { FeatureCollection, MultiPolygon, Polygon, Position } from 'geojson'
import { TILE_PX, toX, toY } from '../map/mercator.ts'
import { readOutlines } from '../map/outlines.ts'
import { copiesOf, type Ground, type Place } from './view.ts'

const SCALE_LINES = 6

interface Shape {
  rings: Place[][]
  west: number
  east: number
  north: number
  south: number
}

/** The outlines of the world. */
export async function createOutlines(): Promise<Ground> {
  const shapes = toShapes(await readOutlines('fine'))
  const draw: Ground['draw'] = (pen, view, colors) => {
    const { top, width, height, world } = view
    pen.fillStyle = colors.water
    pen.fillRect(0, 0, width, height)
    pen.fillStyle = colors.land
    pen.strokeStyle = colors.border
    pen.lineWidth = 1
    for (const left of copiesOf(view)) {
      for (const { rings, west, east, north, south } of shapes) {
        if (east * world < left || west * world > left + width) continue
        if (south * world < top || north * world > top + height) continue
        pen.beginPath()
        for (const ring of rings) {
          for (const { x, y } of ring) pen.lineTo(x * world - left, y * world - top)
          pen.closePath()
        }
        pen.fill('evenodd')
        pen.stroke()
      }
    }
    drawGrid(pen, view, colors)
  }
  return { draw }
}

/** A grid makes movements visible where there are no roads. */
const drawGrid: Ground['draw'] = (pen, { left, top, width, height, world, zoom }, colors) => {
  const step = 2 ** -Math.round(zoom + Math.log2(TILE_PX / (Math.max(width, height) / SCALE_LINES)))
  pen.strokeStyle = colors.grid
  pen.lineWidth = 1
  pen.beginPath()
  for (let x = Math.ceil(left / world / step) * step; x * world < left + width; x += step) {
    pen.moveTo(x * world - left, 0)
    pen.lineTo(x * world - left, height)
  }
  for (let y = Math.ceil(top / world / step) * step; y * world < top + height; y += step) {
    pen.moveTo(0, y * world - top)
    pen.lineTo(width, y * world - top)
  }
  pen.stroke()
}

function toShapes(collection: FeatureCollection): Shape[] {
  return collection.features.flatMap(({ geometry }) => {
    const polygons = geometry as Polygon | MultiPolygon
    const list = polygons.type === 'Polygon' ? [polygons.coordinates] : polygons.coordinates
    return list.map(rings => {
      const places = rings.map(ring =>
        ring.map(([lng, lat]: Position) => ({ x: toX(lng as number), y: toY(lat as number) })),
      )
      const all = places[0] ?? []
      const xs = all.map(place => place.x)
      const ys = all.map(place => place.y)
      return {
        rings: places,
        west: Math.min(...xs),
        east: Math.max(...xs),
        north: Math.min(...ys),
        south: Math.max(...ys),
      }
    })
  })
}
