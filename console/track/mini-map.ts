import type { FeatureCollection, MultiPolygon, Polygon, Position } from 'geojson'
import { STATES, type State } from '../live/packed.ts'
import { readBasemapSetting } from '../map/basemap-setting.ts'
import type { MapColors } from '../map/colors.ts'
import { nearX, TILE_PX, toX, toY } from '../map/mercator.ts'

/** A map of a few kilobytes, as this page is opened over mobile networks: outlines or image tiles, a trail, a marker. */
export interface Place {
  x: number
  y: number
}

const MIN_ZOOM = 1
const MAX_ZOOM = 18
const MAX_TILES = 200
const IMAGE_PX = 256
const SCALE_LINES = 6

interface Shape {
  rings: Place[][]
  west: number
  east: number
  north: number
  south: number
}

export function createMiniMap(canvas: HTMLCanvasElement, readColors: () => MapColors) {
  const pen = canvas.getContext('2d') as CanvasRenderingContext2D
  const setting = readBasemapSetting()
  const token = location.pathname.split('/')[2]
  const images =
    setting && !setting.vector ? `/api/v3/tiles/{z}/{x}/{y}?v=${setting.version}&token=${token}` : null
  const tiles = new Map<string, HTMLImageElement>()
  let shapes: Shape[] = []
  let center: Place = { x: 0.5, y: 0.35 }
  let zoom = 2
  let trail: (Place & { at: number })[] = []
  let marker: (Place & { heading: number | null; state: State }) | null = null
  let frame = 0
  let stray = false

  const request = () => {
    if (frame === 0) frame = requestAnimationFrame(draw)
  }
  if (!images) {
    void import('../map/outlines.ts')
      .then(({ readOutlines }) => readOutlines('fine'))
      .then(collection => {
        shapes = toShapes(collection)
        request()
      })
  }

  function draw() {
    frame = 0
    const ratio = Math.min(2, devicePixelRatio)
    const { clientWidth: width, clientHeight: height } = canvas
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio
      canvas.height = height * ratio
    }
    const colors = readColors()
    const world = TILE_PX * 2 ** zoom
    const left = center.x * world - width / 2
    const top = center.y * world - height / 2
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.fillStyle = colors.water
    pen.fillRect(0, 0, width, height)
    // The world repeats, and a trail continues from one copy into the next.
    const lefts: number[] = []
    for (let turn = Math.floor(left / world) - 1; (turn - 1) * world < left + width; turn++)
      lefts.push(left - turn * world)
    if (images) drawTiles(images, left, top, width, height)
    else {
      for (const one of lefts) drawLand(colors, one, top, width, height, world)
      drawGrid(colors, left, top, width, height, world)
    }
    for (const one of lefts) {
      drawTrail(colors, one, top, world)
      if (marker) drawMarker(marker.x * world - one, marker.y * world - top, marker, colors)
    }
  }

  function drawLand(
    colors: MapColors,
    left: number,
    top: number,
    width: number,
    height: number,
    world: number,
  ) {
    pen.fillStyle = colors.land
    pen.strokeStyle = colors.border
    pen.lineWidth = 1
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

  /** A grid makes movements visible where there are no roads. */
  function drawGrid(
    colors: MapColors,
    left: number,
    top: number,
    width: number,
    height: number,
    world: number,
  ) {
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

  function drawTiles(url: string, left: number, top: number, width: number, height: number) {
    const level = Math.max(0, Math.min(MAX_ZOOM, Math.round(zoom + 1)))
    const count = 2 ** level
    const size = (TILE_PX * 2 ** zoom) / count
    for (let y = Math.max(0, Math.floor(top / size)); y * size < top + height && y < count; y++) {
      for (let x = Math.floor(left / size); x * size < left + width; x++) {
        const image = readTile(url, level, ((x % count) + count) % count, y)
        if (image?.complete && image.naturalWidth > 0) {
          pen.drawImage(image, x * size - left, y * size - top, size + 0.5, size + 0.5)
        }
      }
    }
  }

  function readTile(url: string, z: number, x: number, y: number): HTMLImageElement | undefined {
    const key = `${z}/${x}/${y}`
    const known = tiles.get(key)
    if (known) return known
    for (const oldest of tiles.keys()) {
      if (tiles.size < MAX_TILES) break
      tiles.delete(oldest)
    }
    const image = new Image(IMAGE_PX, IMAGE_PX)
    image.onload = request
    image.src = url.replace('{z}', `${z}`).replace('{x}', `${x}`).replace('{y}', `${y}`)
    tiles.set(key, image)
    return image
  }

  function drawTrail(colors: MapColors, left: number, top: number, world: number) {
    let x = trail[0]?.x
    if (x === undefined) return
    pen.beginPath()
    for (const place of marker ? [...trail, marker] : trail) {
      x = nearX(place.x, x)
      pen.lineTo(x * world - left, place.y * world - top)
    }
    pen.strokeStyle = colors.trail
    pen.globalAlpha = 0.65
    pen.lineWidth = 4
    pen.lineJoin = pen.lineCap = 'round'
    pen.stroke()
    pen.globalAlpha = 1
  }

  function drawMarker(x: number, y: number, one: NonNullable<typeof marker>, colors: MapColors) {
    pen.save()
    pen.translate(x, y)
    pen.beginPath()
    if (one.state === 'moving' && one.heading !== null) {
      pen.rotate((one.heading * Math.PI) / 180)
      pen.moveTo(0, -16)
      pen.lineTo(11, 13)
      pen.lineTo(0, 7)
      pen.lineTo(-11, 13)
      pen.closePath()
    } else pen.arc(0, 0, 9, 0, Math.PI * 2)
    pen.lineWidth = 5
    pen.lineJoin = 'round'
    pen.strokeStyle = colors.labels.halo
    pen.stroke()
    pen.fillStyle = colors.labels.states[STATES.indexOf(one.state)] as string
    pen.fill()
    pen.restore()
  }

  function zoomBy(change: number, at: Place = { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 }) {
    const next = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, zoom + change))
    const offX = at.x - canvas.clientWidth / 2
    const offY = at.y - canvas.clientHeight / 2
    const [before, after] = [TILE_PX * 2 ** zoom, TILE_PX * 2 ** next]
    center = { x: center.x + offX / before - offX / after, y: center.y + offY / before - offY / after }
    zoom = next
    request()
  }

  const fingers = new Map<number, Place>()
  const spread = () => {
    const [a, b] = [...fingers.values()]
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0
  }
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId)
    fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY })
  })
  canvas.addEventListener('pointermove', event => {
    const from = fingers.get(event.pointerId)
    if (!from) return
    const before = spread()
    const to = { x: event.offsetX, y: event.offsetY }
    fingers.set(event.pointerId, to)
    if (fingers.size === 2 && before > 0) return zoomBy(Math.log2(spread() / before), to)
    const world = TILE_PX * 2 ** zoom
    center = { x: center.x - (to.x - from.x) / world, y: center.y - (to.y - from.y) / world }
    stray = true
    request()
  })
  for (const ending of ['pointerup', 'pointercancel'] as const) {
    canvas.addEventListener(ending, event => fingers.delete(event.pointerId))
  }
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault()
      zoomBy(-event.deltaY / 300, { x: event.offsetX, y: event.offsetY })
    },
    { passive: false },
  )
  new ResizeObserver(request).observe(canvas)

  return {
    zoomBy,
    request,
    setTrail(points: readonly Timed[]) {
      trail = points.map(toPlace)
      request()
    },
    addToTrail(point: Timed) {
      trail.push(toPlace(point))
    },
    /** Removes older points. */
    cutTrail(since: number) {
      const left = trail.filter(({ at }) => at >= since)
      if (left.length < trail.length) request()
      trail = left
    },
    /** Moves the marker. The map follows it until somebody drags the map away. */
    setMarker(next: NonNullable<typeof marker>) {
      const isFirst = marker === null
      marker = next
      if (isFirst) zoom = 14
      if (isFirst || !stray) center = { x: next.x, y: next.y }
      request()
    },
    goToMarker() {
      stray = false
      if (marker) center = { x: marker.x, y: marker.y }
      zoom = Math.max(zoom, 13)
      request()
    },
  }
}

interface Timed {
  lat: number
  lng: number
  timestamp: string
}

const toPlace = ({ lat, lng, timestamp }: Timed) => ({ x: toX(lng), y: toY(lat), at: Date.parse(timestamp) })

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
