import { OwnFailure } from '../../../api/failure.ts'
import type { Shape } from '../../../map/areas.ts'

/** A shape as somebody types it. */
export interface ShapeDraft {
  kind: Shape['type']
  lat: string
  lng: string
  radius: string
  /** A corner a line, latitude first, as places are written everywhere but in GeoJSON. */
  corners: string
}

/** Where the interface and the form have the corners. */
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
  // The last one is the first again.
  const corners = shape.coordinates.slice(0, -1).map(([lng, lat]) => `${write(lat)}, ${write(lng)}`)
  return { ...EMPTY, kind: 'polygon', corners: corners.join('\n') }
}

/** As people write it: 52,52 is a number too. Nothing is none. */
const toNumber = (text: string) => (text.trim() === '' ? Number.NaN : Number(text.trim().replace(',', '.')))

/** 1.500 and 1,500 are grouped: nobody enters millimetres. */
function toMetres(text: string): number {
  const [, thousands, separator = ''] =
    /^([1-9]\d{0,2}(?:([.,'’\s])\d{3})(?:\2\d{3})*)(?:[.,]\d+)?$/.exec(text.trim()) ?? []
  if (!thousands) return toNumber(text)
  return toNumber(thousands.replaceAll(separator, '') + text.trim().slice(thousands.length))
}

/** Between two numbers stands what is not in one: in `52,5; 13,4` the semicolon, in `52.5,13.4` the comma. */
function numbersIn(line: string): number[] {
  const parts = line.split(/[\s;]+/).map(part => part.replace(/^,|,$/g, ''))
  const found = parts.filter(part => part !== '')
  return (found.length === 1 ? line.split(',') : found).map(toNumber)
}

/** What is to be sent. What cannot be read as a corner is said at the field, before the server could. */
export function readDraft(draft: ShapeDraft, badCorner: (line: number) => string): Shape {
  if (draft.kind === 'circle') {
    const center = { lat: toNumber(draft.lat), lng: toNumber(draft.lng) }
    return { type: 'circle', center, radius: toMetres(draft.radius) }
  }
  const lines = draft.corners.split('\n').filter(line => line.trim() !== '')
  const coordinates = lines.map((line, index): [number, number] => {
    const [lat = Number.NaN, lng = Number.NaN, ...rest] = numbersIn(line)
    if (rest.length > 0 || Number.isNaN(lat) || Number.isNaN(lng))
      throw new OwnFailure(400, badCorner(index + 1), [{ path: CORNERS, message: badCorner(index + 1) }])
    return [lng, lat]
  })
  return { type: 'polygon', coordinates }
}

const isPlace = (lat: number, lng: number) => Math.abs(lat) <= 90 && Math.abs(lng) <= 180

/** Whether nothing is entered yet. */
export const isBlank = ({ lat, lng, radius, corners }: ShapeDraft): boolean =>
  [lat, lng, radius, corners].every(text => text.trim() === '')

/** What can be shown of it; null while it is being typed. */
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
