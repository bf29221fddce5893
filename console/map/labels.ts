import { fromRem } from '../parts/rem.ts'
import { isolate } from '../texts/isolate.ts'

/** More names than anybody reads at once. Drawing them takes a millisecond or two. */
const MAX_LABELS = 120
const FONT_REM = 0.6875
const HEIGHT_REM = 0.9375
const BESIDE = 12
/** A longer name would cover the names of its neighbours. */
const MAX_WIDTH_REM = 11.25
const MAX_CACHED = 2_000
const TAU = Math.PI * 2

export interface LabelColors {
  text: string
  halo: string
  /** The background of a cluster's number. */
  surface: string
  /** In the order of STATES. */
  states: readonly [string, string, string]
}

interface Candidate {
  key: string
  text: string
  x: number
  y: number
}

/** A name that fits beside a marker, in the current font of the context. */
export function shorten(context: CanvasRenderingContext2D, name: string, ratio = 1): string {
  const max = fromRem(MAX_WIDTH_REM) * ratio
  const fits = (text: string) => context.measureText(text).width <= max
  if (fits(name)) return isolate(name)
  const letters = [...name]
  while (letters.length > 1 && !fits(`${letters.join('')}…`)) letters.pop()
  return isolate(`${letters.join('').trimEnd()}…`)
}

/** Draws names beside markers, without overlaps, and clusters with their numbers. */
export function createLabels(canvas: HTMLCanvasElement) {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D
  const font = `600 ${fromRem(FONT_REM)}px ${getComputedStyle(document.body).fontFamily}`
  const height = Math.ceil(fromRem(HEIGHT_REM))
  const rem = fromRem(1)
  const drawn = new Map<string, { image: HTMLCanvasElement; width: number }>()
  /** The names of the previous frame, so that names do not flicker. */
  let placed = new Set<string>()

  function drawText(text: string, ratio: number, colors: LabelColors) {
    const key = `${text}\n${ratio}${colors.text}`
    const known = drawn.get(key)
    if (known) return known
    context.font = font
    const shown = shorten(context, text)
    const width = Math.ceil(context.measureText(shown).width) + 6
    const image = document.createElement('canvas')
    image.width = width * ratio
    image.height = height * ratio
    const pen = image.getContext('2d') as CanvasRenderingContext2D
    pen.scale(ratio, ratio)
    pen.font = font
    pen.textBaseline = 'middle'
    pen.lineJoin = 'round'
    pen.lineWidth = 3
    pen.strokeStyle = colors.halo
    pen.fillStyle = colors.text
    pen.strokeText(shown, 3, height / 2 + 0.5)
    pen.fillText(shown, 3, height / 2 + 0.5)
    if (drawn.size >= MAX_CACHED) drawn.clear()
    const made = { image, width }
    drawn.set(key, made)
    return made
  }

  return {
    /** The radius of a cluster in pixels, with room for its number. */
    radiusOf: (members: number) => rem * (0.75 + Math.min(0.875, Math.log2(members) * 0.1)),
    begin(width: number, high: number, ratio: number) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      context.clearRect(0, 0, width, high)
    },
    /** A ring with the shares of the states around the number of members. */
    cluster(
      x: number,
      y: number,
      radius: number,
      counts: readonly number[],
      written: string,
      colors: LabelColors,
    ) {
      context.beginPath()
      context.arc(x, y, radius, 0, TAU)
      context.fillStyle = colors.surface
      context.fill()
      context.lineWidth = 3.5
      const all = counts.reduce((sum, count) => sum + count, 0)
      let from = -Math.PI / 2
      counts.forEach((count, state) => {
        if (count === 0) return
        const to = from + (TAU * count) / all
        context.beginPath()
        context.arc(x, y, radius, from, to)
        context.strokeStyle = colors.states[state] as string
        context.stroke()
        from = to
      })
      context.font = font
      context.textAlign = 'center'
      context.textBaseline = 'middle'
      context.fillStyle = colors.text
      context.fillText(written, x, y + 0.5)
      context.textAlign = 'start'
    },
    /** The number of members on a plate as small as it can be. */
    number(x: number, y: number, written: string, colors: LabelColors) {
      context.font = font
      const width = context.measureText(written).width + 0.5 * rem
      context.beginPath()
      context.roundRect(x - width / 2, y - height / 2, width, height, height / 2)
      context.globalAlpha = 0.88
      context.fillStyle = colors.surface
      context.fill()
      context.globalAlpha = 1
      context.fillStyle = colors.text
      context.textAlign = 'center'
      context.textBaseline = 'middle'
      context.fillText(written, x, y + 0.5)
      context.textAlign = 'start'
    },
    /** Draws names, those of the previous frame before others. The ones of `always` come first, whatever they cover. */
    names(
      candidates: readonly Candidate[],
      always: ReadonlySet<string | null>,
      blocked: readonly { x: number; y: number; r: number }[],
      ratio: number,
      colors: LabelColors,
    ) {
      const boxes = blocked.map(({ x, y, r }) => [x - r, y - r, x + r, y + r] as const)
      const now = new Set<string>()
      const rank = ({ key }: Candidate) => (always.has(key) ? 0 : placed.has(key) ? 1 : 2)
      const order = [...candidates].sort((one, other) => rank(one) - rank(other))
      for (const { key, text, x, y } of order) {
        if (now.size >= MAX_LABELS) break
        const { image, width } = drawText(text, ratio, colors)
        const left = Math.round(x + BESIDE)
        const top = Math.round(y - height / 2)
        const [right, bottom] = [left + width, top + height]
        const lies = (box: readonly [number, number, number, number]) =>
          left < box[2] && right > box[0] && top < box[3] && bottom > box[1]
        if (!always.has(key) && boxes.some(lies)) continue
        boxes.push([left, top, right, bottom])
        context.drawImage(image, left, top, width, height)
        now.add(key)
      }
      placed = now
    },
  }
}
