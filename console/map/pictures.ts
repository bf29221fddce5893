import type { Map as MapLibre } from 'maplibre-gl'
import { fromRem } from '../parts/rem.ts'
import { readMapColors } from './colors.ts'
import { shorten } from './labels.ts'
import { ARROW, HUB, NAME, SHIELD } from './picture-names.ts'

const RATIO = 2
const FONT_REM = 0.6875
const PADDING_PX = 4
/** The width of a hub's mark. */
export const HUB_PX = fromRem(1.125)
/** The square of an icon with room around the house. */
const HUB_SQUARE = 24
/** A copy of the path in `parts/icon.tsx`, which the map does not load. */
const HOUSE = 'M2 14V6.500L8 2.500l6 4V14M6 14v-4.500h4V14M1 14h14'

/** Draws each picture that a map requests. */
export function drawPictures(map: MapLibre): void {
  let pen: Pen | undefined
  const takePen = (color: string) => {
    // Reading the style sheets takes as long as drawing.
    if (pen?.color !== color) pen = createPen(color)
    return pen
  }
  map.setMissingStyleImageResolver(id => {
    const at = id.indexOf(NAME)
    const [plate = '', number] = id.split(SHIELD)
    const add = (image: ImageData) => map.addImage(id, image, { pixelRatio: RATIO })
    if (at !== -1) add(drawName(id.slice(at + NAME.length), takePen(id.slice(0, at))))
    else if (number !== undefined) add(drawShield(number, plate))
    else if (id.endsWith(ARROW)) add(drawArrow(id.slice(0, -ARROW.length)))
    else if (id.endsWith(HUB)) add(drawHub(takePen(id.slice(0, -HUB.length))))
  })
}

interface Pen {
  color: string
  halo: string
  surface: string
  fontPx: number
  font: string
}

function createPen(color: string): Pen {
  const fontPx = fromRem(FONT_REM)
  const font = `600 ${fontPx * RATIO}px ${getComputedStyle(document.body).fontFamily}`
  const { halo, surface } = readMapColors().labels
  return { color, halo, surface, fontPx, font }
}

const createContext = () =>
  document.createElement('canvas').getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D

function drawName(name: string, { color, halo, fontPx, font }: Pen): ImageData {
  const context = createContext()
  const { canvas } = context
  context.font = font
  const shown = shorten(context, name, RATIO)
  canvas.width = Math.ceil(context.measureText(shown).width) + 2 * PADDING_PX * RATIO
  canvas.height = (fontPx + 2 * PADDING_PX) * RATIO
  // A new size resets the canvas and its font.
  context.font = font
  context.textBaseline = 'middle'
  context.lineJoin = 'round'
  context.lineWidth = 3 * RATIO
  context.strokeStyle = halo
  context.strokeText(shown, PADDING_PX * RATIO, canvas.height / 2)
  context.fillStyle = color
  context.fillText(shown, PADDING_PX * RATIO, canvas.height / 2)
  return context.getImageData(0, 0, canvas.width, canvas.height)
}

/** A house on a square tile, unlike the mark of any moving or silent subject. */
function drawHub({ color, surface }: Pen): ImageData {
  const context = createContext()
  const { canvas } = context
  const size = Math.round(HUB_PX * RATIO)
  canvas.width = size
  canvas.height = size
  const scale = size / HUB_SQUARE
  context.scale(scale, scale)
  context.beginPath()
  context.roundRect(1, 1, HUB_SQUARE - 2, HUB_SQUARE - 2, 5)
  context.fillStyle = surface
  context.fill()
  context.strokeStyle = color
  context.lineWidth = 1.6
  context.stroke()
  context.translate((HUB_SQUARE - 16) / 2, (HUB_SQUARE - 16) / 2)
  context.lineJoin = 'round'
  context.stroke(new Path2D(HOUSE))
  return context.getImageData(0, 0, size, size)
}

const SHIELD_REM = 0.625
const ARROW_PX = 9

/** The number of a highway on a plate of two colours. */
function drawShield(number: string, plate: string): ImageData {
  const [color = '', ground = ''] = plate.split(' ')
  const context = createContext()
  const { canvas } = context
  const fontPx = fromRem(SHIELD_REM) * RATIO
  const font = `600 ${fontPx}px ${getComputedStyle(document.body).fontFamily}`
  context.font = font
  canvas.width = Math.ceil(context.measureText(number).width) + 10 * RATIO
  canvas.height = Math.ceil(fontPx * 1.5) + 2 * RATIO
  context.font = font
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.beginPath()
  context.roundRect(RATIO, RATIO, canvas.width - 2 * RATIO, canvas.height - 2 * RATIO, 3 * RATIO)
  context.fillStyle = ground
  context.fill()
  context.lineWidth = RATIO
  context.strokeStyle = context.fillStyle = color
  context.stroke()
  context.fillText(number, canvas.width / 2, canvas.height / 2 + RATIO / 2)
  return context.getImageData(0, 0, canvas.width, canvas.height)
}

function drawArrow(color: string): ImageData {
  const context = createContext()
  const size = ARROW_PX * RATIO
  context.canvas.width = context.canvas.height = size
  context.scale(RATIO, RATIO)
  context.strokeStyle = color
  context.lineWidth = 1.4
  context.lineCap = context.lineJoin = 'round'
  context.stroke(new Path2D('M1 4.5h6.500M5 2l2.500 2.500L5 7'))
  return context.getImageData(0, 0, size, size)
}
