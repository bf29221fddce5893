import { type BasemapSetting, firstZoomOf } from '../map/basemap-setting.ts'
import type { MapColors } from '../map/colors.ts'
import { toX, toY } from '../map/mercator.ts'
import { readTheme } from '../map/tones.ts'
import { writeNames } from './street-names.ts'
import { type PlacedTile, paintTiles } from './street-painter.ts'
import { readStreetTile, type StreetTile } from './street-tile.ts'
import { type Ground, type Square, squaresOf, type View } from './view.ts'

/** The picture reaches so far beyond the view: a map that is moved by less is not drawn again. */
const MARGIN_PX = 160
/** While somebody zooms, the picture is only scaled. */
const STILL_AFTER_MS = 120
/** A decoded tile of a city takes about 2 MB. */
const MAX_TILES = 64
/** As long as the server leaves alone the other server that holds the tiles. */
const AGAIN_AFTER_MS = 5_000
/** Tiles of the levels above stand in for one that is on its way. */
const STAND_INS = 4

interface Picture {
  ground: HTMLCanvasElement
  names: HTMLCanvasElement
  view: View
  theme: string
}

interface Parts {
  setting: BasemapSetting
  urlOf(z: number, x: number, y: number): string
  /** Loads the outlines of the world, which are drawn where the tiles end. */
  openOutlines(): Promise<Ground>
  request(): void
}

/** Streets with their names. They are drawn into a picture, which is what most frames show: they only move it. */
export function createStreets({ setting, urlOf, openOutlines, request }: Parts): Ground {
  const [west, south, east, north] = setting.bounds
  const edges = { left: toX(west), right: toX(east), top: toY(north), bottom: toY(south) }
  const firstZoom = firstZoomOf(setting)
  const language = document.documentElement.lang
  /** Null where there is no such tile. */
  const tiles = new Map<string, StreetTile | null>()
  const underWay = new Set<string>()
  let outlines: Ground | null = null
  let isOpening = false
  let picture: Picture | null = null
  let isStale = true
  let zoomedAt = 0
  let lastZoom = Number.NaN
  let timer: ReturnType<typeof setTimeout> | undefined

  async function load(z: number, x: number, y: number, key: string): Promise<void> {
    underWay.add(key)
    try {
      const answer = await fetch(urlOf(z, x, y))
      if (!answer.ok) throw new Error(answer.statusText)
      const bytes = answer.status === 204 ? null : new Uint8Array(await answer.arrayBuffer())
      tiles.set(key, bytes && readStreetTile(bytes, language))
      for (const oldest of tiles.keys()) {
        if (tiles.size <= MAX_TILES) break
        tiles.delete(oldest)
      }
      underWay.delete(key)
      isStale = true
      request()
    } catch {
      setTimeout(() => {
        underWay.delete(key)
        isStale = true
        request()
      }, AGAIN_AFTER_MS)
    }
  }

  async function open(): Promise<void> {
    if (isOpening) return
    isOpening = true
    try {
      outlines = await openOutlines()
      isStale = true
      request()
    } catch {
      // The server was away: the next picture tries again.
      isOpening = false
    }
  }

  /** The tile, as the one that was used last. */
  function recall(key: string): StreetTile | null | undefined {
    const tile = tiles.get(key)
    if (tile === undefined) return undefined
    tiles.delete(key)
    tiles.set(key, tile)
    return tile
  }

  /** Whether tiles cover the view, also its margin. */
  const isInside = ({ left, top, width, height, world, zoom }: View) =>
    zoom >= firstZoom &&
    left / world >= edges.left &&
    (left + width) / world <= edges.right &&
    top / world >= edges.top &&
    (top + height) / world <= edges.bottom

  const isWithin = ({ z, x, y }: Square) => {
    const count = 2 ** z
    return (
      (x + 1) / count > edges.left &&
      x / count < edges.right &&
      (y + 1) / count > edges.top &&
      y / count < edges.bottom
    )
  }

  /** The tiles of a view, and larger ones that stand in for those that are on their way. */
  function place(view: View): { placed: PlacedTile[]; standIns: PlacedTile[] } {
    const level = Math.min(setting.maxZoom, Math.floor(view.zoom + 0.01))
    if (level < firstZoom) return { placed: [], standIns: [] }
    const placed: PlacedTile[] = []
    const standIns = new Map<string, PlacedTile>()
    for (const square of squaresOf(view, level).filter(isWithin)) {
      const { z, x, y, left, top, size } = square
      const key = `${z}/${x}/${y}`
      const tile = recall(key)
      if (tile) placed.push({ tile, left, top, size })
      if (tile !== undefined) continue
      if (!underWay.has(key)) void load(z, x, y, key)
      for (let up = 1; up <= STAND_INS; up++) {
        const [share, above] = [2 ** up, `${z - up}/${x >> up}/${y >> up}`]
        const larger = tiles.get(above)
        if (!larger) continue
        const [across, down] = [x % share, y % share]
        standIns.set(above, {
          tile: larger,
          left: left - across * size,
          top: top - down * size,
          size: size * share,
        })
        break
      }
    }
    return { placed, standIns: [...standIns.values()] }
  }

  function paint(view: View, colors: MapColors): Picture {
    const { ratio, zoom } = view
    const wide: View = {
      ...view,
      left: view.left - MARGIN_PX,
      top: view.top - MARGIN_PX,
      width: view.width + 2 * MARGIN_PX,
      height: view.height + 2 * MARGIN_PX,
    }
    const [ground, names] = [picture?.ground, picture?.names].map(canvas => clear(canvas, wide)) as [
      HTMLCanvasElement,
      HTMLCanvasElement,
    ]
    const pen = ground.getContext('2d') as CanvasRenderingContext2D
    if (!isInside(wide)) {
      if (outlines) outlines.draw(pen, wide, colors)
      else void open()
    }
    if (isInside(wide) || !outlines) {
      pen.fillStyle = colors.blank
      pen.fillRect(0, 0, wide.width, wide.height)
    }
    const { placed, standIns } = place(wide)
    for (const some of [standIns, placed]) paintTiles(pen, some, { zoom, ratio, colors })
    const { width, height } = wide
    const writer = names.getContext('2d') as CanvasRenderingContext2D
    writeNames(writer, [...placed, ...standIns], { zoom, width, height, colors })
    return { ground, names, view: wide, theme: readTheme() }
  }

  const covers = (wide: View, view: View) =>
    view.left >= wide.left &&
    view.top >= wide.top &&
    view.left + view.width <= wide.left + wide.width &&
    view.top + view.height <= wide.top + wide.height

  function isFresh({ view: wide, theme }: Picture, view: View): boolean {
    if (isStale || wide.ratio !== view.ratio || theme !== readTheme()) return false
    return wide.zoom === view.zoom && covers(wide, view)
  }

  function draw(pen: CanvasRenderingContext2D, view: View, colors: MapColors): void {
    const now = performance.now()
    if (view.zoom !== lastZoom && !Number.isNaN(lastZoom)) zoomedAt = now
    lastZoom = view.zoom
    const isZooming = picture !== null && now - zoomedAt < STILL_AFTER_MS
    if (!picture || (!isZooming && !isFresh(picture, view))) {
      isStale = false
      picture = paint(view, colors)
    }
    if (isZooming) {
      clearTimeout(timer)
      timer = setTimeout(request, STILL_AFTER_MS)
    }
    pen.fillStyle = colors.blank
    pen.fillRect(0, 0, view.width, view.height)
    show(pen, picture.ground, picture.view, view)
  }

  return {
    draw,
    drawNames: (pen, view) => picture && show(pen, picture.names, picture.view, view),
  }
}

/** An empty canvas for a view. */
function clear(known: HTMLCanvasElement | undefined, { width, height, ratio }: View): HTMLCanvasElement {
  const canvas = known ?? document.createElement('canvas')
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  canvas.getContext('2d')?.setTransform(ratio, 0, 0, ratio, 0, 0)
  return canvas
}

function show(pen: CanvasRenderingContext2D, picture: HTMLCanvasElement, of: View, view: View): void {
  const scale = view.world / of.world
  // A picture that moves by whole pixels of the screen stays sharp.
  const toPixel = (px: number) => (scale === 1 ? Math.round(px * view.ratio) / view.ratio : px)
  const [x, y] = [toPixel(of.left * scale - view.left), toPixel(of.top * scale - view.top)]
  pen.drawImage(picture, x, y, of.width * scale, of.height * scale)
}
