import { placeFieldTexts as de } from '../texts/de/place-field.ts'
import { placeFieldTexts as en } from '../texts/en/place-field.ts'
import { useOwnTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }
export const usePlaceFieldTexts = () => useOwnTexts(TEXTS)

/** The place as a form holds it: with an address alone it is no place yet. */
export interface PlaceDraft {
  lat: number | null
  lng: number | null
  address: string
}

export const NO_PLACE: PlaceDraft = { lat: null, lng: null, address: '' }

/** The place as the interface takes it; null for none. */
export const placeOf = ({ lat, lng, address }: PlaceDraft) =>
  lat === null || lng === null ? null : { lat, lng, address: address || null }

/** A latitude and a longitude in one text: "52.52, 13.405". Null for other texts. */
export function readPoint(text: string): { lat: number; lng: number } | null {
  const [, north = '', east = ''] =
    /^\s*(-?\d{1,2}(?:\.\d+)?)\s*[,;\s]\s*(-?\d{1,3}(?:\.\d+)?)\s*$/.exec(text) ?? []
  const [lat, lng] = [Number(north), Number(east)]
  return north !== '' && Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : null
}
