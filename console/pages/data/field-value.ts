import { NO_PLACE, type PlaceDraft } from '../place-draft.ts'
import type { FieldDefinition } from './data-queries.ts'

/** The value of a field as a form holds it. */
export type FieldDraft = string | string[] | PlaceDraft

interface Place {
  lat: number
  lng: number
  address?: string | null
}

const isPlace = (value: unknown): value is Place =>
  typeof value === 'object' && value !== null && 'lat' in value

/** A value as its field edits it. */
export function draftOf({ type }: Pick<FieldDefinition, 'type'>, value: unknown): FieldDraft {
  if (type === 'location')
    return isPlace(value) ? { lat: value.lat, lng: value.lng, address: value.address ?? '' } : NO_PLACE
  if (type === 'multiselect') return Array.isArray(value) ? value.map(String) : []
  if (type === 'boolean') return typeof value === 'boolean' ? String(value) : ''
  return value === null || value === undefined ? '' : String(value)
}

/** The value that is sent: null where there is none. A number that cannot be read goes as it is, so that the server names it. */
export function readDraft({ type }: Pick<FieldDefinition, 'type'>, draft: FieldDraft): unknown {
  if (typeof draft === 'object' && !Array.isArray(draft)) {
    const { lat, lng, address } = draft
    if (lat === null || lng === null) return address === '' ? null : { address }
    return { lat, lng, ...(address !== '' && { address }) }
  }
  if (Array.isArray(draft)) return draft.length === 0 ? null : draft
  if (draft === '') return null
  if (type === 'boolean') return draft === 'true'
  if (type !== 'number') return draft
  const number = Number(String(draft).trim().replace(',', '.'))
  return Number.isNaN(number) ? draft : number
}
