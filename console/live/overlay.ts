import { createCamera } from '../map/camera.ts'
import { type Clustering, cluster } from '../map/clusters.ts'
import type { MapColors } from '../map/colors.ts'
import { createLabels } from '../map/labels.ts'
import { createMarkers, DOT, FLOATS, NO_DIRECTION } from '../map/markers.ts'
import { TILE_PX, toLngLat, toX, toY } from '../map/mercator.ts'
import { createPace } from '../map/pace.ts'
import type { PacedMap } from '../map/paced-map.ts'
import { coveredOf, paddingOf } from '../map/room.ts'
import { countCells, isCrowd, isDense } from './density.ts'
import type { Fleet } from './fleet.ts'

/** From this zoom on there are no clusters. */
const CLUSTERS_BELOW_ZOOM = 14
/** The interval at which clusters are computed again when nothing else requires it. */
const CLUSTER_EVERY_MS = 1_000
/** A marker is painted again when it has moved by this much. */
const SEEN_PX = 0.5
/**
 * Without a graphics card, the processor composes the whole page for each painting: 40 ms of two cores, during which a click
 * waits.
 */
const SEEN_PX_IN_SOFTWARE = 1
/** The check comes at about the time of a visible move: slightly less counts too. */
const ALLOWANCE = 0.9
/** Radians. */
const UNSEEN_TURN = 0.05
const CLICK_PX = 16
/** The reach of a number where each subject is a dot. */
const NUMBER_PX = 12
/** A click among many dots shows so many levels more. */
const NEARER = 2
/** With more markers on the screen, only those that somebody points at or has selected have a name. */
const MAX_NAMED = 600
const RADIANS = Math.PI / 180
const MARGIN_PX = 40
/** Markers near the edge of the world, at 85°, and those at a pole are moved inside by this much, so that they are seen whole. */
const EDGE_PX = 17
/** Up to this number of markers, no name covers another marker. */
const MAX_KEPT_FREE = 300
const MARKER_PX = 8
/** The ring around the selected marker needs this much space before its name. */
const RING_PX = 6

export interface OverlayOptions {
  map: PacedMap
  fleet: Fleet
  markers: HTMLCanvasElement
  labels: HTMLCanvasElement
  colors: MapColors
  /** Whether a slot passes the filters of the page. */
  isShown: (slot: number) => boolean
  writeCount: (count: number) => string
  /** Null for a click beside all markers; `point` is the place on the screen. */
  onSelect(subjectId: string | null, point: { x: number; y: number }): void
  /** Called when the pointer reaches a marker, or leaves it: then with null. */
  onHover(subjectId: string | null, point: { x: number; y: number }): void
}

interface OnScreen {
  x: number
  y: number
  r: number
  members: number[]
  /** The number of members in each state, in the order of STATES. */
  states: [number, number, number]
}

export type Overlay = ReturnType<typeof createOverlay>

/**
 * Draws everything that moves, above the map and in its camera: one pass over the fleet's columns a frame, one WebGL call. It
 * draws no frame in which nothing has moved by half a pixel.
 */
export function createOverlay(options: OverlayOptions) {
  const { map, fleet } = options
  let { colors, isShown } = options
  const painter = createMarkers(options.markers)
  const labels = createLabels(options.labels)
  const isSoftware = painter?.isSoftware ?? true
  const travel = createCamera(map, isSoftware)
  /** Among very many dots nobody sees one of them move by so little. */
  const seenPx = () => (isSoftware ? SEEN_PX_IN_SOFTWARE : SEEN_PX) * (clustering?.isDense ? 2 : 1)
  let selected: string | null = null
  let hovered: string | null = null
  let follow = false
  /** Whether a click selects a subject: not while somebody draws. */
  let picks = true
  let data = new Float32Array(1_024 * FLOATS)
  let drawnSlots = new Int32Array(1_024)
  let count = 0
  let clustering: Clustering | null = null
  let clusteredAt = 0
  let clusteredFor = ''
  let onScreen: OnScreen[] = []
  /** The input of the last painting. */
  let painted = { data: new Float32Array(), count: 0, clusters: onScreen, members: -1 }
  let isStale = true
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
    isStale = true
    draw()
  }

  function group(zoom: number, now: number): Clustering | null {
    if (zoom >= CLUSTERS_BELOW_ZOOM) return null
    // In steps of half a level, so that clusters stay the same during a zoom.
    const step = Math.round(zoom * 2) / 2
    const wanted = `${step} ${fleet.members} ${shownVersion}`
    if (clustering && wanted === clusteredFor && now - clusteredAt < CLUSTER_EVERY_MS) return clustering
    const { x, y } = fleet.columns
    // Filtered subjects are moved outside of the world.
    const shownX = x.slice(0, fleet.size)
    const shownY = y.slice(0, fleet.size)
    for (let slot = 0; slot < fleet.size; slot++) {
      if (!isShown(slot)) shownX[slot] = -1 - slot
    }
    const { lng, lat } = map.getCenter()
    const worldPx = TILE_PX * 2 ** zoom
    const sight = { centerX: toX(lng), centerY: toY(lat), width: width / worldPx, height: height / worldPx }
    const group = isDense(shownX, shownY, fleet.size, sight, clustering?.isDense) ? countCells : cluster
    clustering = group(shownX, shownY, fleet.size, TILE_PX * 2 ** step)
    clusteredFor = wanted
    clusteredAt = now
    return clustering
  }
  let shownVersion = 0

  /** Draws the map if it has requested a frame, and the overlay in the same frame. */
  function drawAll() {
    if (follow && selected) keepInView(selected, performance.now())
    if (isMapAsking) {
      isMapAsking = false
      map.redraw()
    }
    draw()
  }

  /** Computes where every marker is, and paints if the difference is visible. */
  function draw() {
    if (width === 0) return
    const now = performance.now()
    const zoom = map.getZoom()
    const worldPx = TILE_PX * 2 ** zoom
    const center = map.getCenter()
    const centerX = toX(center.lng)
    const centerY = toY(center.lat)
    const grouped = group(zoom, now)
    const { x, y, fromX, fromY, heading } = fleet.columns
    if (drawnSlots.length < fleet.size) {
      drawnSlots = new Int32Array(fleet.size * 2)
      data = new Float32Array(fleet.size * 2 * FLOATS)
    }
    const [northPx, southPx] = [height / 2 - centerY * worldPx, height / 2 + (1 - centerY) * worldPx]
    const keepInWorld = (py: number, r: number) => Math.min(southPx - r, Math.max(northPx + r, py))
    count = 0
    let fastest = 0
    for (let slot = 0; slot < fleet.size; slot++) {
      const id = fleet.ids[slot] as string
      const isSelected = id === selected
      if (!isSelected && (grouped?.alone[slot] === 0 || !isShown(slot))) continue
      const share = fleet.progress(slot, now)
      const wayX = (x[slot] as number) - (fromX[slot] as number)
      const wayY = (y[slot] as number) - (fromY[slot] as number)
      let dx = (fromX[slot] as number) + wayX * share - centerX
      // The world repeats beyond its edge.
      dx -= Math.round(dx)
      const px = dx * worldPx + width / 2
      const offY = (fromY[slot] as number) + wayY * share - centerY
      const py = keepInWorld(offY * worldPx + height / 2, EDGE_PX)
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
      const isDot = grouped?.isDense && !isSelected && id !== hovered
      data[at + 3] = (fleet.columns.state[slot] as number) + (isDot ? DOT : 0)
      data[at + 4] = isSelected ? 2 : id === hovered ? 1 : 0
      drawnSlots[count++] = slot
    }
    onScreen = []
    for (const { x, y, members } of grouped?.clusters ?? []) {
      let dx = x - centerX
      dx -= Math.round(dx)
      const px = dx * worldPx + width / 2
      const r = grouped?.isDense ? NUMBER_PX : labels.radiusOf(members.length)
      const py = keepInWorld((y - centerY) * worldPx + height / 2, r + 3)
      if (px < -r || py < -r || px > width + r || py > height + r) continue
      const states: [number, number, number] = [0, 0, 0]
      for (const slot of members) (states[fleet.columns.state[slot] as number] as number)++
      onScreen.push({ x: px, y: py, r: r + 3, members, states })
    }
    if (isStale || isSeen()) paint()
    scheduleNext(fastest)
  }

  /** Whether the painting differs visibly from the current markers. */
  function isSeen(): boolean {
    const movedPx = seenPx() * ALLOWANCE
    if (fleet.members !== painted.members || count !== painted.count) return true
    if (onScreen.length !== painted.clusters.length) return true
    for (let at = 0; at < count * FLOATS; at++) {
      const off = Math.abs((data[at] as number) - (painted.data[at] as number))
      if (off > (at % FLOATS < 2 ? movedPx : UNSEEN_TURN)) return true
    }
    return onScreen.some(({ x, y, states }, index) => {
      const before = painted.clusters[index] as OnScreen
      const off = Math.max(Math.abs(x - before.x), Math.abs(y - before.y))
      return off > movedPx || states.some((share, state) => share !== before.states[state])
    })
  }

  function paint() {
    painter?.draw(data, count, width, height, ratio, colors.markers)
    labels.begin(width, height, ratio)
    for (const { x, y, r, members, states } of onScreen) {
      const written = options.writeCount(members.length)
      if (clustering?.isDense) labels.number(x, y, written, colors.labels)
      else labels.cluster(x, y, r - 3, states, written, colors.labels)
    }
    const candidates: { key: string; text: string; x: number; y: number }[] = []
    for (let index = 0; index < count; index++) {
      const slot = drawnSlots[index] as number
      const [key, text] = [fleet.ids[slot] as string, fleet.names[slot] as string]
      const [x, y] = [data[index * FLOATS] as number, data[index * FLOATS + 1] as number]
      if (key === selected || key === hovered) candidates.push({ key, text, x: x + RING_PX, y })
      else if (count <= MAX_NAMED) candidates.push({ key, text, x, y })
    }
    const always = new Set([selected, hovered])
    const free = count > MAX_KEPT_FREE ? [] : candidates.map(({ x, y }) => ({ x, y, r: MARKER_PX }))
    labels.names(candidates, always, [...onScreen, ...free], ratio, colors.labels)
    painted = { data: data.slice(0, count * FLOATS), count, clusters: onScreen, members: fleet.members }
    isStale = false
  }

  function scheduleNext(pxPerMs: number) {
    if (follow && selected) pace.request()
    else if (pxPerMs > 0) pace.requestIn(Math.min(seenPx() / pxPerMs, 1_000))
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

  /** The map's center that puts a place into the middle of the area beside the panel. */
  function middleFor(px: number, py: number, worldPx: number): [number, number] {
    const { right, bottom } = coveredOf(map)
    return [px + right / 2 / worldPx, py + bottom / 2 / worldPx]
  }

  /** The slot of the nearest marker at a point of the screen. */
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
    const hit = onScreen.find(({ x, y, r }) => Math.hypot(x - point.x, y - point.y) <= r)
    const isCrowded = clustering?.isDense && isCrowd(data, count, FLOATS, point.x, point.y)
    if (slot !== -1 && !isCrowded) return options.onSelect(fleet.ids[slot] as string, point)
    if (hit) showAll(hit.members)
    else if (isCrowded) travel({ center: map.unproject([point.x, point.y]), zoom: map.getZoom() + NEARER })
    else options.onSelect(null, point)
  }
  const onMouseMove = ({ point }: { point: { x: number; y: number } }) => {
    if (!picks) return
    const slot = slotAt(point.x, point.y)
    const id = slot === -1 ? null : (fleet.ids[slot] as string)
    const isCluster = onScreen.some(({ x, y, r }) => Math.hypot(x - point.x, y - point.y) <= r)
    map.getCanvas().style.cursor = id !== null || isCluster ? 'pointer' : ''
    hover(id, point)
  }
  const hover = (id: string | null, point: { x: number; y: number }) => {
    if (id === hovered) return
    hovered = id
    options.onHover(id, point)
    pace.request()
  }
  const onMouseOut = ({ point }: { point: { x: number; y: number } }) => hover(null, point)

  /** Zooms to the members of a cluster. */
  function showAll(slots: readonly number[]): void {
    const { x, y } = fleet.columns
    let [west, north, east, south] = [2, 2, -1, -1]
    for (const slot of slots) {
      west = Math.min(west, x[slot] as number)
      east = Math.max(east, x[slot] as number)
      north = Math.min(north, y[slot] as number)
      south = Math.max(south, y[slot] as number)
    }
    const bounds = [toLngLat(west, south), toLngLat(east, north)] as [[number, number], [number, number]]
    const target = map.cameraForBounds(bounds, { padding: paddingOf(map), maxZoom: 15 })
    if (target) travel(target)
  }

  const pace = createPace(map.getContainer(), drawAll)
  const unlisten = fleet.onChange(pace.request)
  let isMapAsking = false
  map.setPace(() => {
    isMapAsking = true
    pace.request()
  })
  map.on('resize', resize)
  map.on('click', onClick)
  map.on('mousemove', onMouseMove)
  map.on('mouseout', onMouseOut)
  resize()

  return {
    set(
      next: Partial<{
        selected: string | null
        follow: boolean
        picks: boolean
        colors: MapColors
        isShown: (slot: number) => boolean
      }>,
    ) {
      if (next.selected !== undefined) selected = next.selected
      if (next.follow !== undefined) follow = next.follow
      if (next.picks !== undefined) picks = next.picks
      if (next.colors) colors = next.colors
      if (next.isShown) {
        isShown = next.isShown
        shownVersion++
      }
      isStale = true
      pace.request()
    },
    goTo(id: string) {
      const slot = fleet.slotOf(id)
      if (slot === undefined) return
      const [px, py] = placeOf(slot, performance.now())
      const zoom = Math.max(map.getZoom(), 13)
      const center = toLngLat(...middleFor(px, py, TILE_PX * 2 ** zoom))
      travel({ center, zoom })
    },
    /** Where a subject is, if that is on the screen. */
    placeInView(id: string): [lng: number, lat: number] | undefined {
      const index = drawnSlots.subarray(0, count).indexOf(fleet.slotOf(id) ?? -1)
      return index === -1 ? undefined : toLngLat(...placeOf(drawnSlots[index] as number, performance.now()))
    },
    close() {
      unlisten()
      pace.close()
      map.setPace(undefined)
      map.off('resize', resize)
      map.off('click', onClick)
      map.off('mousemove', onMouseMove)
      map.off('mouseout', onMouseOut)
    },
  }
}
