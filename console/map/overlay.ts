import type { Map as MapLibre } from 'maplibre-gl'
import type { Fleet } from '../live/fleet.ts'
import { type Clustering, cluster } from './clusters.ts'
import { clusterRadius, createLabels } from './labels.ts'
import { createMarkers, FLOATS, NO_DIRECTION } from './markers.ts'
import { TILE_PX, toLngLat, toX, toY } from './mercator.ts'
import type { Palette } from './palette.ts'

/** From here on everything is shown for itself. */
const CLUSTERS_BELOW_ZOOM = 14
/** Who stands with whom is looked at this often where nothing else asks for it. */
const CLUSTER_EVERY_MS = 1_000
/** What moves less than this since the last frame needs no other. */
const SEEN_PX = 0.5
const CLICK_PX = 16
/** A screen that is full of them shows no names but those that are chosen. */
const MAX_NAMED = 600
const RADIANS = Math.PI / 180
const MARGIN_PX = 40
/** Up to as many markers no name lies on another marker. */
const MAX_KEPT_FREE = 300
const MARKER_PX = 8
/** What the ring around the chosen one takes of the space before its name. */
const RING_PX = 6
/** As in the style sheets. */
const PHONE_PX = 720
const PANEL_PX = 312

export interface OverlayOptions {
  map: MapLibre
  fleet: Fleet
  markers: HTMLCanvasElement
  labels: HTMLCanvasElement
  palette: Palette
  /** Whether a slot passes the filters of the page. */
  isShown: (slot: number) => boolean
  writeCount: (count: number) => string
  /** Of nobody where nobody is: `point` is where on the screen. */
  onSelect(subjectId: string | null, point: { x: number; y: number }): void
}

export type Overlay = ReturnType<typeof createOverlay>

/**
 * Everything that moves, above the map and in its camera: one pass over the fleet's columns a frame, one call of WebGL. No
 * frame is drawn where nothing has moved by half a pixel.
 */
export function createOverlay(options: OverlayOptions) {
  const { map, fleet } = options
  let { palette, isShown } = options
  const painter = createMarkers(options.markers)
  const labels = createLabels(options.labels)
  let selected: string | null = null
  let hovered: string | null = null
  let follow = false
  /** Whether a click chooses somebody: not while something is drawn. */
  let picks = true
  let data = new Float32Array(1_024 * FLOATS)
  let drawnSlots = new Int32Array(1_024)
  let count = 0
  let clustering: Clustering | null = null
  let clusteredAt = 0
  let clusteredFor = ''
  let onScreen: { x: number; y: number; r: number; members: number[] }[] = []
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let width = 0
  let height = 0
  let ratio = 1

  function resize() {
    const box = map.getContainer().getBoundingClientRect()
    width = box.width
    height = box.height
    ratio = Math.min(2, window.devicePixelRatio)
    for (const canvas of [options.markers, options.labels]) {
      canvas.width = Math.round(width * ratio)
      canvas.height = Math.round(height * ratio)
    }
    draw()
  }

  function group(zoom: number, now: number): Clustering | null {
    if (zoom >= CLUSTERS_BELOW_ZOOM) return null
    // In steps of half a level, so that clusters stay while somebody zooms.
    const step = Math.round(zoom * 2) / 2
    const wanted = `${step} ${fleet.members} ${shownVersion}`
    if (clustering && wanted === clusteredFor && now - clusteredAt < CLUSTER_EVERY_MS) return clustering
    const { x, y } = fleet.columns
    // What the filters leave out stands beside the world.
    const shownX = x.slice(0, fleet.size)
    const shownY = y.slice(0, fleet.size)
    for (let slot = 0; slot < fleet.size; slot++) {
      if (!isShown(slot)) shownX[slot] = -1 - slot
    }
    clustering = cluster(shownX, shownY, fleet.size, TILE_PX * 2 ** step)
    clusteredFor = wanted
    clusteredAt = now
    return clustering
  }
  let shownVersion = 0

  function draw() {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    frame = 0
    timer = undefined
    if (width === 0) return
    const now = performance.now()
    if (follow && selected) keepInView(selected, now)
    const zoom = map.getZoom()
    const worldPx = TILE_PX * 2 ** zoom
    const center = map.getCenter()
    const centerX = toX(center.lng)
    const centerY = toY(center.lat)
    const clusters = group(zoom, now)
    const { x, y, fromX, fromY, heading } = fleet.columns
    if (drawnSlots.length < fleet.size) {
      drawnSlots = new Int32Array(fleet.size * 2)
      data = new Float32Array(fleet.size * 2 * FLOATS)
    }
    count = 0
    let fastest = 0
    const candidates: { key: string; text: string; x: number; y: number }[] = []
    for (let slot = 0; slot < fleet.size; slot++) {
      const id = fleet.ids[slot] as string
      const isSelected = id === selected
      if (!isSelected && ((clusters && clusters.alone[slot] === 0) || !isShown(slot))) continue
      const share = fleet.progress(slot, now)
      const wayX = (x[slot] as number) - (fromX[slot] as number)
      const wayY = (y[slot] as number) - (fromY[slot] as number)
      let dx = (fromX[slot] as number) + wayX * share - centerX
      // The world goes on beyond its edge.
      dx -= Math.round(dx)
      const px = dx * worldPx + width / 2
      const py = ((fromY[slot] as number) + wayY * share - centerY) * worldPx + height / 2
      if (px < -MARGIN_PX || py < -MARGIN_PX || px > width + MARGIN_PX || py > height + MARGIN_PX) continue
      if (share < 1) {
        const speed = (Math.hypot(wayX, wayY) * worldPx) / (fleet.columns.movesMs[slot] as number)
        if (speed > fastest) fastest = speed
      }
      const direction = heading[slot] as number
      const at = count * FLOATS
      data[at] = px
      data[at + 1] = py
      data[at + 2] = Number.isNaN(direction) ? NO_DIRECTION : direction * RADIANS
      data[at + 3] = fleet.states[slot] as number
      data[at + 4] = isSelected ? 2 : id === hovered ? 1 : 0
      drawnSlots[count++] = slot
      if (isSelected)
        candidates.unshift({ key: id, text: fleet.names[slot] as string, x: px + RING_PX, y: py })
      else if (candidates.length < MAX_NAMED)
        candidates.push({ key: id, text: fleet.names[slot] as string, x: px, y: py })
    }
    painter?.draw(data, count, width, height, ratio, palette.markers)
    labels.begin(width, height, ratio)
    onScreen = []
    for (const one of clusters?.clusters ?? []) {
      let dx = one.x - centerX
      dx -= Math.round(dx)
      const px = dx * worldPx + width / 2
      const py = (one.y - centerY) * worldPx + height / 2
      const r = clusterRadius(one.members.length)
      if (px < -r || py < -r || px > width + r || py > height + r) continue
      onScreen.push({ x: px, y: py, r: r + 3, members: one.members })
      labels.cluster(px, py, one, fleet.states, options.writeCount(one.members.length), palette.labels)
    }
    const named = count > MAX_NAMED ? candidates.slice(0, 1) : candidates
    const free = count > MAX_KEPT_FREE ? [] : candidates.map(({ x, y }) => ({ x, y, r: MARKER_PX }))
    labels.names(named, [...onScreen, ...free], ratio, palette.labels)
    scheduleNext(fastest)
  }

  function scheduleNext(pxPerMs: number) {
    if (follow && selected) frame = requestAnimationFrame(draw)
    else if (pxPerMs > 0) {
      const wait = SEEN_PX / pxPerMs
      if (wait < 20) frame = requestAnimationFrame(draw)
      else timer = setTimeout(request, Math.min(wait, 1_000))
    }
  }

  function request() {
    if (frame === 0) frame = requestAnimationFrame(draw)
  }

  function placeOf(slot: number, now: number): [number, number] {
    const { x, y, fromX, fromY } = fleet.columns
    const share = fleet.progress(slot, now)
    return [
      (fromX[slot] as number) + ((x[slot] as number) - (fromX[slot] as number)) * share,
      (fromY[slot] as number) + ((y[slot] as number) - (fromY[slot] as number)) * share,
    ]
  }

  function keepInView(id: string, now: number) {
    const slot = fleet.slotOf(id)
    if (slot === undefined || map.isMoving()) return
    const [px, py] = placeOf(slot, now)
    const center = map.getCenter()
    const worldPx = TILE_PX * 2 ** map.getZoom()
    const [middleX, middleY] = middleFor(px, py, worldPx)
    const off = Math.hypot(middleX - toX(center.lng), middleY - toY(center.lat)) * worldPx
    if (off > 0.3) map.jumpTo({ center: toLngLat(middleX, middleY) })
  }

  /** Where the middle of the map is when a place lies in the middle of what the panel leaves free. */
  const middleFor = (px: number, py: number, worldPx: number): [number, number] => [
    px + coveredBeside() / 2 / worldPx,
    py + coveredBelow() / 2 / worldPx,
  ]

  /** What of the map lies below the panel: on a phone its lower half, else a part of its right. */
  const coveredBeside = () => (selected !== null && window.innerWidth > PHONE_PX ? PANEL_PX : 0)
  const coveredBelow = () => (selected !== null && window.innerWidth <= PHONE_PX ? height * 0.5 : 0)

  /** The slot that is drawn at a place of the screen, the nearest one. */
  function slotAt(px: number, py: number): number {
    let best = -1
    let bestOff = CLICK_PX * CLICK_PX
    for (let index = 0; index < count; index++) {
      const dx = (data[index * FLOATS] as number) - px
      const dy = (data[index * FLOATS + 1] as number) - py
      const off = dx * dx + dy * dy
      if (off < bestOff) {
        bestOff = off
        best = drawnSlots[index] as number
      }
    }
    return best
  }

  const onClick = ({ point }: { point: { x: number; y: number } }) => {
    if (!picks) return
    const slot = slotAt(point.x, point.y)
    if (slot !== -1) return options.onSelect(fleet.ids[slot] as string, point)
    const hit = onScreen.find(({ x, y, r }) => Math.hypot(x - point.x, y - point.y) <= r)
    if (hit) showAll(hit.members)
    else options.onSelect(null, point)
  }
  const onMouseMove = ({ point }: { point: { x: number; y: number } }) => {
    if (!picks) return
    const slot = slotAt(point.x, point.y)
    const id = slot === -1 ? null : (fleet.ids[slot] as string)
    const isCluster = onScreen.some(({ x, y, r }) => Math.hypot(x - point.x, y - point.y) <= r)
    map.getCanvas().style.cursor = id !== null || isCluster ? 'pointer' : ''
    if (id === hovered) return
    hovered = id
    request()
  }

  /** Zooms to where they are; to everything that is shown where none are named. */
  function showAll(slots?: readonly number[], animate = true) {
    const { x, y } = fleet.columns
    let [west, north, east, south] = [2, 2, -1, -1]
    const all = slots ?? [...fleet.ids.keys()].filter(isShown)
    if (all.length === 0) return
    for (const slot of all) {
      west = Math.min(west, x[slot] as number)
      east = Math.max(east, x[slot] as number)
      north = Math.min(north, y[slot] as number)
      south = Math.max(south, y[slot] as number)
    }
    const bounds = [toLngLat(west, south), toLngLat(east, north)] as [[number, number], [number, number]]
    const around = Math.min(80, width / 6)
    const padding = {
      top: around,
      left: around,
      right: around + coveredBeside(),
      bottom: around + coveredBelow(),
    }
    map.fitBounds(bounds, { padding, maxZoom: 15, animate, duration: 500 })
  }

  const unlisten = fleet.onChange(request)
  map.on('move', draw)
  map.on('resize', resize)
  map.on('click', onClick)
  map.on('mousemove', onMouseMove)
  resize()

  return {
    showAll,
    draw,
    set(
      next: Partial<{
        selected: string | null
        follow: boolean
        picks: boolean
        palette: Palette
        isShown: (slot: number) => boolean
      }>,
    ) {
      if (next.selected !== undefined) selected = next.selected
      if (next.follow !== undefined) follow = next.follow
      if (next.picks !== undefined) picks = next.picks
      if (next.palette) palette = next.palette
      if (next.isShown) {
        isShown = next.isShown
        shownVersion++
      }
      request()
    },
    goTo(id: string) {
      const slot = fleet.slotOf(id)
      if (slot === undefined) return
      const [px, py] = placeOf(slot, performance.now())
      const zoom = Math.max(map.getZoom(), 13)
      const center = toLngLat(...middleFor(px, py, TILE_PX * 2 ** zoom))
      map.easeTo({ center, zoom, duration: 500 })
    },
    close() {
      unlisten()
      cancelAnimationFrame(frame)
      clearTimeout(timer)
      map.off('move', draw)
      map.off('resize', resize)
      map.off('click', onClick)
      map.off('mousemove', onMouseMove)
    },
  }
}
