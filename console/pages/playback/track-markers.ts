import type { Map as MapLibre } from 'maplibre-gl'
import { readMapColors } from '../../map/colors.ts'
import { shortWay } from '../../map/geometry.ts'
import { shorten } from '../../map/labels.ts'
import { MAX_LAT } from '../../map/mercator.ts'
import { fromRem } from '../../parts/rem.ts'
import { onTheme } from '../../preferences.ts'
import type { Player } from './player.ts'
import { momentAt, type Track } from './tracks.ts'

export interface Marked {
  track: Track
  name: string
  /** The index of its colour. */
  color: number
}

const RADIUS_PX = 11
/** Markers near the edge of the world, at 85°, are moved inside by this much, so that they are seen whole. */
const EDGE_PX = RADIUS_PX + 2
const LABEL_PX = 16
const RADIANS = Math.PI / 180
/** Closer to the edge than this share of the map, the only subject that plays is centered again. */
const EDGE = 0.12
const FOLLOW_MS = 400

interface Box {
  left: number
  right: number
  y: number
}

const boxAt = (left: number, y: number, width: number): Box => ({ left, right: left + width, y })
/** All of them have the height of a marker. */
const overlaps = (one: Box, other: Box) =>
  one.left < other.right && other.left < one.right && Math.abs(one.y - other.y) < 2 * RADIUS_PX

/**
 * Draws each subject at the time of the player on a canvas in the camera of the map. They are few, so all are drawn each
 * time.
 */
export function drawMarkers(
  map: MapLibre,
  canvas: HTMLCanvasElement,
  player: Player,
  marked: readonly Marked[],
) {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  const font = `600 ${fromRem(0.75)}px ${getComputedStyle(document.body).fontFamily}`
  let palette = readMapColors()
  let frame = 0
  let [width, height] = [0, 0]
  /** Whether somebody has moved the map since playback started. */
  let strayed = false

  function draw() {
    frame = 0
    context.clearRect(0, 0, width, height)
    const middle = map.getCenter().lng
    const [north, south] = [map.project([middle, MAX_LAT]), map.project([middle, -MAX_LAT])]
    const seen = marked.flatMap(({ track, name, color }) => {
      const moment = momentAt(track, player.time)
      if (!moment) return []
      // On the copy of the world that is in view.
      const lng = middle + shortWay(moment.lng - middle)
      const lat = Math.min(MAX_LAT, Math.max(-MAX_LAT, moment.lat))
      const { x, y } = map.project([lng, lat])
      return [{ moment, name, color, x, y: Math.min(south.y - EDGE_PX, Math.max(north.y + EDGE_PX, y)) }]
    })
    const taken = seen.map(({ x, y }) => boxAt(x - RADIUS_PX, y, 2 * RADIUS_PX))
    // The first subject is drawn on top, and its name is placed first.
    for (const { moment, color, x, y } of [...seen].reverse()) {
      context.globalAlpha = moment.known ? 1 : 0.6
      drawMarker(x, y, moment.heading, palette.tracks[color] as string)
    }
    for (const { moment, name, x, y } of seen) {
      context.globalAlpha = moment.known ? 1 : 0.6
      drawName(name, x, y, taken)
    }
    context.globalAlpha = 1
    const [only] = seen
    if (only && marked.length === 1 && player.playing) keepInView(only.x, only.y, only.moment)
  }

  function drawMarker(x: number, y: number, heading: number, color: string) {
    context.save()
    context.translate(x, y)
    context.beginPath()
    context.arc(0, 0, RADIUS_PX, 0, 2 * Math.PI)
    context.fillStyle = color
    context.strokeStyle = palette.labels.halo
    context.lineWidth = 3
    context.stroke()
    context.fill()
    context.fillStyle = palette.labels.surface
    context.beginPath()
    if (Number.isNaN(heading)) context.arc(0, 0, 4, 0, 2 * Math.PI)
    else {
      context.rotate(heading * RADIANS)
      context.moveTo(0, -7)
      context.lineTo(5, 5.5)
      context.lineTo(0, 3)
      context.lineTo(-5, 5.5)
    }
    context.fill()
    context.restore()
  }

  /** Draws a name beside its marker if it covers no marker and no other name. */
  function drawName(name: string, x: number, y: number, taken: Box[]) {
    context.font = font
    context.textBaseline = 'middle'
    context.lineJoin = 'round'
    context.lineWidth = 4
    context.strokeStyle = palette.labels.halo
    const shown = shorten(context, name)
    const { width } = context.measureText(shown)
    const box = [x + LABEL_PX, x - LABEL_PX - width]
      .map(left => boxAt(left, y, width))
      .find(one => !taken.some(other => overlaps(one, other)))
    if (!box) return
    taken.push(box)
    context.strokeText(shown, box.left, y)
    context.fillStyle = palette.labels.text
    context.fillText(shown, box.left, y)
  }

  function keepInView(x: number, y: number, { lng, lat }: { lng: number; lat: number }) {
    if (strayed || map.isMoving()) return
    const isInside =
      x > width * EDGE && x < width * (1 - EDGE) && y > height * EDGE && y < height * (1 - EDGE)
    if (!isInside) map.easeTo({ center: [lng, lat], duration: FOLLOW_MS })
  }

  function resize() {
    const box = map.getContainer().getBoundingClientRect()
    const ratio = Math.min(2, window.devicePixelRatio)
    width = box.width
    height = box.height
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    draw()
  }

  const request = () => {
    if (frame === 0) frame = requestAnimationFrame(draw)
  }
  const onStray = () => {
    strayed = true
  }
  const stops = [
    player.onTime(request),
    player.onState(() => {
      if (player.playing) strayed = false
    }),
    onTheme(() => {
      palette = readMapColors()
      request()
    }),
  ]
  map.on('move', draw)
  map.on('resize', resize)
  map.on('dragstart', onStray)
  resize()
  return () => {
    for (const stop of stops) stop()
    cancelAnimationFrame(frame)
    map.off('move', draw)
    map.off('resize', resize)
    map.off('dragstart', onStray)
    context.clearRect(0, 0, width, height)
  }
}
