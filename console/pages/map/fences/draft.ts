import { Failure } from '../../../api/failure.ts'
import type { Shape } from '../../../map/areas.ts'

/** A shape as it is typed. */
export interface ShapeDraft {
  kind: Shape['type']
  lat: string
  lng: string
  radius: string
  /** One corner a line, latitude first, as everywhere except in GeoJSON. */
  corners: string
}

/** The path of the corners in the API and the name of their field. */
export const CORNERS = 'shape.coordinates'

const EMPTY: ShapeDraft = { kind: 'circle', lat: '', lng: '', radius: '', corners: '' }

/** A tenth of a metre. */
const write = (degrees: number) => String(Number(degrees.toFixed(6)))

export function draftOf(shape: Shape | null): ShapeDraft {
  if (!shape) return EMPTY
  if (shape.type === 'circle') {
    const { center, radius } = shape
    return { ...EMPTY, lat: write(center.lat), lng: write(center.lng), radius: String(radius) }
  }
  // The last corner repeats the first.
  const corners = shape.coordinates.slice(0, -1).map(([lng, lat]) => `${write(lat)}, ${write(lng)}`)
  return { ...EMPTY, kind: 'polygon', corners: corners.join('\n') }
}

/** A decimal comma is accepted: 52,52. An empty text is no number. */
const toNumber = (text: string) => (text.trim() === '' ? Number.NaN : Number(text.trim().replace(',', '.')))

/** 1.500 and 1,500 are grouped thousands: nobody enters millimetres. */
function toMetres(text: string): number {
  const [, thousands, separator = ''] =
    /^([1-9]\d{0,2}(?:([.,'’\s])\d{3})(?:\2\d{3})*)(?:[.,]\d+)?$/.exec(text.trim()) ?? []
  if (!thousands) return toNumber(text)
  return toNumber(thousands.replaceAll(separator, '') + text.trim().slice(thousands.length))
}

/**
 * The separator between two numbers is the sign that is not in a number: in `52,5; 13,4` the semicolon, in `52.5,13.4` the
 * comma.
 */
function numbersIn(line: string): number[] {
  const parts = line.split(/[\s;]+/).map(part => part.replace(/^,|,$/g, ''))
  const found = parts.filter(part => part !== '')
  return (found.length === 1 ? line.split(',') : found).map(toNumber)
}

const badLine = (line: number, badCorner: (line: number) => string) => {
  const problem = { message: badCorner(line), params: { vertices: [line] } }
  return new Failure(400, problem, [{ path: CORNERS, ...problem }])
}

/** The shape to send. An unreadable corner is an error at the field, before the server sees it. */
export function readDraft(draft: ShapeDraft, badCorner: (line: number) => string): Shape {
  if (draft.kind === 'circle') {
    const center = { lat: toNumber(draft.lat), lng: toNumber(draft.lng) }
    return { type: 'circle', center, radius: toMetres(draft.radius) }
  }
  const lines = draft.corners.split('\n').filter(line => line.trim() !== '')
  const coordinates = lines.map((line, index): [number, number] => {
    const [lat = Number.NaN, lng = Number.NaN, ...rest] = numbersIn(line)
    if (rest.length > 0 || Number.isNaN(lat) || Number.isNaN(lng)) throw badLine(index + 1, badCorner)
    return [lng, lat]
  })
  return { type: 'polygon', coordinates }
}

const isPlace = (lat: number, lng: number) => Math.abs(lat) <= 90 && Math.abs(lng) <= 180

/** Whether nothing is entered. */
export const isBlank = ({ lat, lng, radius, corners }: ShapeDraft): boolean =>
  [lat, lng, radius, corners].every(text => text.trim() === '')

/** The shape to draw; null while the input is incomplete. */
export function shapeOf(draft: ShapeDraft): Shape | null {
  try {
    const shape = readDraft(draft, String)
    if (shape.type === 'polygon') {
      const { coordinates } = shape
      return coordinates.length >= 3 && coordinates.every(([lng, lat]) => isPlace(lat, lng)) ? shape : null
    }
    const { center, radius } = shape
    return isPlace(center.lat, center.lng) && radius > 0 ? shape : null
  } catch {
    return null
  }
}
