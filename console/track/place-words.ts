import { nearX, toX, toY } from '../map/mercator.ts'
import type { Point } from './link.ts'

/** Nobody reads that a vehicle has passed a house. */
const ASKED_FROM_M = 40
const ASKED_EVERY_MS = 10_000
const ANSWER_WITHIN_MS = 10_000
const AGAIN_AFTER_MS = 30_000
const EARTH_M = 40_075_017

/** Asks where a subject is in words, when it has moved and not too often. Asks again later where no answer comes. */
export function createPlaceWords(token: string, onWords: (words: string) => void) {
  let asked: Point | null = null
  let askedAt = Number.NEGATIVE_INFINITY
  let newest: Point | null = null
  let timer: ReturnType<typeof setTimeout> | undefined

  async function ask(): Promise<void> {
    timer = undefined
    const point = newest
    if (!point) return
    asked = point
    askedAt = performance.now()
    const { lat, lng } = point
    const query = new URLSearchParams({ lat: `${lat}`, lng: `${lng}`, token })
    try {
      const answer = await fetch(`/api/v3/places?${query}`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
      if (!answer.ok) throw new Error(answer.statusText)
      const { data } = (await answer.json()) as { data: ({ name: string } | null)[] }
      onWords(data[0]?.name ?? '')
    } catch {
      timer = setTimeout(ask, AGAIN_AFTER_MS)
    }
  }

  return (point: Point): void => {
    newest = point
    if (timer !== undefined || (asked && distanceM(asked, point) < ASKED_FROM_M)) return
    timer = setTimeout(ask, Math.max(0, askedAt + ASKED_EVERY_MS - performance.now()))
  }
}

/** Metres on the map, which are those on the ground as far as a street reaches. */
function distanceM(from: Point, to: Point): number {
  const across = nearX(toX(to.lng), toX(from.lng)) - toX(from.lng)
  const down = toY(to.lat) - toY(from.lat)
  return Math.hypot(across, down) * EARTH_M * Math.cos((from.lat * Math.PI) / 180)
}
