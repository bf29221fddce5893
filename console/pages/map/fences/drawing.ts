import type { Map as MapLibre, MapMouseEvent } from 'maplibre-gl'
import { ringOf, type Shape } from '../../../map/areas.ts'
import { distanceM, type Place, shortWay } from '../../../map/geometry.ts'
import { toLat, toLng, toX, toY } from '../../../map/mercator.ts'
import { type Drawn, showDrawing } from './drawing-layer.ts'
import { type Corner, cornersOf, type Handle, handlesOf } from './handles.ts'

/** A tenth of a metre: a drawn place has no more digits. */
const DIGITS = 6
/** The API accepts circles of 1 m to 500 km. */
const RADIUS_RANGE_M = [1, 500_000] as const
/** The distance at which a handle is still hit. */
const REACH_PX = { mouse: 10, finger: 22 }
/** A shorter movement is a click. */
const STILL_PX = 3
const MIN_CORNERS = 3

export type Drawing = ReturnType<typeof openDrawing>

interface Begun {
  kind: Shape['type']
  /** The center of a circle. */
  corners: Corner[]
  /** The place of the next corner. */
  pointer: Corner | null
}

/** The dragged handle and its start. */
interface Grabbed {
  handle: Handle
  from: Shape
  at: Corner
  isMoved: boolean
}

/**
 * One shape on the map, drawn with the mouse or a finger and then changed by its handles. A drag beside them moves the map.
 * Longitudes continue beyond 180 at the meridian. `onShape` gets every drawn or changed shape, not those from `show`;
 * `onFewest` is called when a corner cannot be removed because a polygon needs three; `onHalf` gets the unfinished shape.
 */
export function openDrawing(
  map: MapLibre,
  onShape: (shape: Shape) => void,
  onFewest = () => {},
  onHalf: (corners: readonly Corner[]) => void = () => {},
) {
  let shown: Shape | null = null
  let isStale = false
  let begun: Begun | null = null
  /** The selected corner. */
  let chosen: number | null = null
  let grabbed: Grabbed | null = null
  let isRemoved = false
  map.once('remove', () => {
    isRemoved = true
  })
  const container = map.getCanvasContainer()
  const layer = showDrawing(map, describe)

  function describe(): Drawn {
    if (begun) return describeBegun(begun)
    if (!shown) return { ring: [], points: [] }
    if (isStale) return { ring: cornersOf(shown), points: [], isStale }
    const points = handlesOf(shown, view(), chosen).map(({ kind, index, place }) => ({
      kind: kind === 'corner' && index === chosen ? ('chosen' as const) : kind,
      place,
    }))
    return { ring: cornersOf(shown), points }
  }

  const pixelsTo = (at: Corner, place: Corner): number => {
    // On the copy of the world that is on the screen there.
    const [one, other] = [map.project(at), map.project([at[0] + shortWay(place[0] - at[0]), place[1]])]
    return Math.hypot(one.x - other.x, one.y - other.y)
  }
  const view = () => ({ zoom: map.getZoom(), middle: map.getCenter().toArray(), isSeen })
  function isSeen(place: Corner): boolean {
    const { lng } = map.getCenter()
    const { x, y } = map.project([lng + shortWay(place[0] - lng), place[1]])
    const { clientWidth, clientHeight } = map.getCanvas()
    return x >= 0 && x <= clientWidth && y >= 0 && y <= clientHeight
  }
  const placeOf = ({ clientX, clientY }: PointerEvent): Corner => {
    const { left, top } = map.getCanvas().getBoundingClientRect()
    return map.unproject([clientX - left, clientY - top]).toArray()
  }

  function findHandle(at: Corner, reachPx: number): Handle | null {
    if (!shown || isStale) return null
    const handles = handlesOf(shown, view(), chosen)
    const [nearest] = handles
      .map(handle => ({ handle, px: pixelsTo(at, handle.place) }))
      .sort((one, other) => one.px - other.px)
    return nearest && nearest.px <= reachPx ? nearest.handle : null
  }

  function finish(next: Shape): void {
    if (begun) onHalf([])
    begun = null
    shown = next
    layer.update()
    onShape(next)
  }

  const onDown = (event: PointerEvent) => {
    if (!shown || !event.isPrimary || event.button !== 0) return
    const at = placeOf(event)
    const handle = findHandle(at, event.pointerType === 'mouse' ? REACH_PX.mouse : REACH_PX.finger)
    grabbed = handle && { handle, from: shown, at, isMoved: false }
    chosen = handle?.kind === 'corner' ? handle.index : null
    if (handle?.kind === 'edge') {
      const corners = cornersOf(shown)
      chosen = handle.index + 1
      corners.splice(chosen, 0, handle.place)
      shown = toPolygon(corners)
      grabbed = { handle: { ...handle, kind: 'corner', index: chosen }, from: shown, at, isMoved: true }
    }
    if (grabbed) container.setPointerCapture(event.pointerId)
    layer.update()
  }
  const onMove = (event: PointerEvent) => {
    const at = placeOf(event)
    if (grabbed) {
      grabbed.isMoved ||= pixelsTo(at, grabbed.at) > STILL_PX
      if (!grabbed.isMoved) return
      shown = moveHandle(grabbed, at)
      layer.update()
      return
    }
    if (begun && begun.corners.length > 0) {
      begun.pointer = at
      layer.update()
    }
    map.getCanvas().style.cursor = begun
      ? 'crosshair'
      : CURSORS[findHandle(at, REACH_PX.mouse)?.kind ?? 'none']
  }
  const onUp = () => {
    const isMoved = grabbed?.isMoved
    grabbed = null
    if (isMoved && shown) finish(shown)
  }
  /** The map does not move while a handle is dragged. */
  const holdMap = (event: { preventDefault(): void }) => {
    if (grabbed) event.preventDefault()
  }

  const onClick = ({ lngLat }: MapMouseEvent) => {
    if (!begun) return
    const { kind, corners } = begun
    const [first, last] = [corners[0], corners.at(-1)]
    const at = lngLat.toArray()
    if (kind === 'circle' && first) return finish(toCircle(toPlace(first), at))
    const isAt = (corner: Corner | undefined) => corner && pixelsTo(at, corner) <= REACH_PX.mouse
    if (isAt(first) || isAt(last)) return close()
    corners.push(last ? [last[0] + shortWay(at[0] - last[0]), at[1]] : at)
    onHalf([...corners])
    layer.update()
  }
  const close = () => {
    if (begun?.kind === 'polygon' && begun.corners.length >= MIN_CORNERS) finish(toPolygon(begun.corners))
  }
  const onContextMenu = ({ lngLat, originalEvent }: MapMouseEvent) => {
    const handle = findHandle(lngLat.toArray(), REACH_PX.mouse)
    if (handle?.kind !== 'corner') return
    originalEvent.preventDefault()
    remove(handle.index)
  }
  function remove(index: number): void {
    if (!shown) return
    const corners = cornersOf(shown)
    if (corners.length <= MIN_CORNERS) {
      onFewest()
      return
    }
    corners.splice(index, 1)
    chosen = null
    finish(toPolygon(corners))
  }
  const onKey = ({ key, target }: KeyboardEvent) => {
    // Elsewhere the keys have other meanings.
    if (target !== map.getCanvas() && target !== document.body) return
    if (key === 'Enter') close()
    if ((key === 'Delete' || key === 'Backspace') && chosen !== null) remove(chosen)
  }
  const rearrange = () => layer.update()

  map.doubleClickZoom.disable()
  container.addEventListener('pointerdown', onDown)
  container.addEventListener('pointermove', onMove)
  container.addEventListener('pointerup', onUp)
  container.addEventListener('pointercancel', onUp)
  window.addEventListener('keydown', onKey)
  map.on('mousedown', holdMap)
  map.on('touchstart', holdMap)
  map.on('click', onClick)
  map.on('contextmenu', onContextMenu)
  map.on('moveend', rearrange)

  function show(next: Shape | null, stale = false): void {
    // A change that comes back from the form keeps the selected corner.
    if (!next || !shown || cornersOf(next).length !== cornersOf(shown).length) chosen = null
    begun = null
    grabbed = null
    shown = next
    isStale = stale
    layer.update()
  }

  return {
    /** Shows a shape to change; with `stale` only to look at. */
    show,
    /** Starts a new shape, or continues an unfinished one. */
    begin(kind: Shape['type'], half: readonly Corner[] = []): void {
      show(null)
      begun = { kind, corners: [...half], pointer: null }
      layer.update()
    },
    /** Discards the unfinished shape. Returns whether there was one. */
    giveUp(): boolean {
      if (!begun || begun.corners.length === 0) return false
      begun = { kind: begun.kind, corners: [], pointer: null }
      onHalf([])
      layer.update()
      return true
    },
    /** Takes back the last click of an unfinished shape. Returns whether there was one. */
    stepBack(): boolean {
      if (!begun?.corners.pop()) return false
      onHalf([...begun.corners])
      layer.update()
      return true
    },
    close(): void {
      container.removeEventListener('pointerdown', onDown)
      container.removeEventListener('pointermove', onMove)
      container.removeEventListener('pointerup', onUp)
      container.removeEventListener('pointercancel', onUp)
      window.removeEventListener('keydown', onKey)
      map.off('mousedown', holdMap)
      map.off('touchstart', holdMap)
      map.off('click', onClick)
      map.off('contextmenu', onContextMenu)
      map.off('moveend', rearrange)
      // A map that was removed first has taken the layers with it.
      if (isRemoved) return
      show(null)
      layer.close()
      map.doubleClickZoom.enable()
      map.getCanvas().style.cursor = ''
    },
  }
}

const CURSORS = { none: '', corner: 'pointer', edge: 'copy', radius: 'pointer', whole: 'move' }

function describeBegun({ kind, corners, pointer }: Begun): Drawn {
  const [first] = corners
  if (!first) return { ring: [], points: [] }
  if (kind === 'circle') {
    const ring = pointer ? ringOf(toCircle(toPlace(first), pointer)).slice(0, -1) : []
    return { ring, points: [{ kind: 'whole', place: first }] }
  }
  const last = corners.at(-1) as Corner
  const next: Corner[] = pointer ? [[last[0] + shortWay(pointer[0] - last[0]), pointer[1]]] : []
  const points = corners.map((place, index) => ({
    kind: index === 0 ? ('first' as const) : ('edge' as const),
    place,
  }))
  return { ring: [...corners, ...next], points }
}

/** The shape after a handle is dragged. */
function moveHandle({ handle, from, at }: Grabbed, to: Corner): Shape {
  const [x, y] = [toX(at[0] + shortWay(to[0] - at[0])) - toX(at[0]), toY(to[1]) - toY(at[1])]
  const move = ([lng, lat]: Corner): Corner => [toLng(toX(lng) + x), toLat(toY(lat) + y)]
  const place = move(handle.place)
  if (from.type === 'circle')
    return handle.kind === 'whole' ? { ...from, center: toPlace(place) } : toCircle(from.center, place)
  const corners = cornersOf(from)
  return toPolygon(handle.kind === 'whole' ? corners.map(move) : corners.with(handle.index, place))
}

const round = (degrees: number) => Number(degrees.toFixed(DIGITS))
const toPlace = ([lng, lat]: Corner): Place => ({ lat: round(lat), lng: round(shortWay(lng)) })

function toPolygon(corners: readonly Corner[]): Shape {
  const ring = corners.map((corner): Corner => {
    const { lat, lng } = toPlace(corner)
    return [lng, lat]
  })
  return { type: 'polygon', coordinates: [...ring, ring[0] as Corner] }
}

function toCircle(center: Place, edge: Corner): Shape {
  const radius = Math.round(distanceM(center, toPlace(edge)))
  const [least, most] = RADIUS_RANGE_M
  return { type: 'circle', center, radius: Math.min(most, Math.max(least, radius)) }
}
