import { STATES, type State } from '../live/packed.ts'
import { readBasemapSetting, TILE_PATH } from '../map/basemap-setting.ts'
import type { MapColors } from '../map/colors.ts'
import { nearX, TILE_PX, toX, toY } from '../map/mercator.ts'
import { copiesOf, type Ground, type Place, toView, type View } from './view.ts'

const MIN_ZOOM = 1
const MAX_ZOOM = 18.5
const FIRST_ZOOM = 15
/** Screens with more pixels than that would be drawn longer for nothing that anybody sees. */
const MAX_RATIO = 2

type Marker = Place & { heading: number | null; state: State }

/**
 * A map of a few kilobytes, as this page is opened over mobile networks: streets or image tiles where there are some, the outlines of
 * the world elsewhere, and above them a trail and a marker.
 */
export function createMiniMap(canvas: HTMLCanvasElement, readColors: () => MapColors) {
  const pen = canvas.getContext('2d') as CanvasRenderingContext2D
  let ground: Ground | null = null
  let center: Place = { x: 0.5, y: 0.35 }
  let zoom = 2
  let trail: (Place & { at: number })[] = []
  let marker: Marker | null = null
  let frame = 0
  let stray = false
  /** The map of the first moment would be another one: the link is being read. */
  let isRead = false

  const request = () => {
    if (frame === 0) frame = requestAnimationFrame(draw)
  }
  void openGround(request).then(opened => {
    ground = opened
    request()
  })

  function draw() {
    frame = 0
    const ratio = Math.min(MAX_RATIO, devicePixelRatio)
    const { clientWidth: width, clientHeight: height } = canvas
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio)
      canvas.height = Math.round(height * ratio)
    }
    const colors = readColors()
    const view = toView(center, zoom, width, height, ratio)
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    if (ground && isRead) ground.draw(pen, view, colors)
    else {
      pen.fillStyle = colors.blank
      pen.fillRect(0, 0, width, height)
    }
    const lefts = copiesOf(view)
    for (const left of lefts) drawTrail(colors, { ...view, left })
    if (isRead) ground?.drawNames?.(pen, view, colors)
    for (const left of lefts) {
      if (marker) drawMarker(marker.x * view.world - left, marker.y * view.world - view.top, marker, colors)
    }
  }

  function drawTrail(colors: MapColors, { left, top, world }: View) {
    let x = trail[0]?.x
    if (x === undefined) return
    pen.beginPath()
    for (const place of marker ? [...trail, marker] : trail) {
      x = nearX(place.x, x)
      pen.lineTo(x * world - left, place.y * world - top)
    }
    pen.lineJoin = pen.lineCap = 'round'
    pen.lineWidth = 8
    pen.strokeStyle = colors.labels.halo
    pen.globalAlpha = 0.7
    pen.stroke()
    pen.strokeStyle = colors.trail
    pen.globalAlpha = 0.85
    pen.lineWidth = 4.5
    pen.stroke()
    pen.globalAlpha = 1
  }

  function drawMarker(x: number, y: number, one: Marker, colors: MapColors) {
    const color = colors.labels.states[STATES.indexOf(one.state)] as string
    pen.save()
    pen.translate(x, y)
    pen.beginPath()
    if (one.state === 'moving' && one.heading !== null) {
      pen.rotate((one.heading * Math.PI) / 180)
      pen.moveTo(0, -18)
      pen.lineTo(13, 14)
      pen.lineTo(0, 8)
      pen.lineTo(-13, 14)
      pen.closePath()
    } else pen.arc(0, 0, 10, 0, Math.PI * 2)
    pen.lineWidth = 6
    pen.lineJoin = 'round'
    pen.strokeStyle = colors.labels.halo
    pen.shadowColor = 'rgb(0 0 0 / 35%)'
    pen.shadowBlur = 8
    pen.shadowOffsetY = 2
    pen.stroke()
    pen.shadowColor = 'transparent'
    pen.fillStyle = color
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
      isRead = true
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
    setMarker(next: Marker) {
      const isFirst = marker === null
      marker = next
      if (isFirst) zoom = FIRST_ZOOM
      if (isFirst || !stray) center = { x: next.x, y: next.y }
      request()
    },
    goToMarker() {
      stray = false
      if (marker) center = { x: marker.x, y: marker.y }
      zoom = Math.max(zoom, FIRST_ZOOM - 1)
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

/** The ground as the server's basemap has it. What it needs is loaded then: streets, images, or the world's outlines. */
async function openGround(request: () => void): Promise<Ground> {
  const setting = readBasemapSetting()
  const token = location.pathname.split('/')[2]
  const urlOf = (z: number, x: number, y: number) =>
    `${TILE_PATH}${z}/${x}/${y}?v=${setting?.version}&token=${token}`
  const openOutlines = async () => (await import('./outlines-ground.ts')).createOutlines()
  if (!setting) return openOutlines()
  if (!setting.vector) {
    const { createImages } = await import('./image-ground.ts')
    return createImages(urlOf, setting.maxZoom, request)
  }
  const { createStreets } = await import('./streets-ground.ts')
  return createStreets({ setting, urlOf, openOutlines, request })
}
