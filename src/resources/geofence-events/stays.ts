import { ZONE, type Zone } from '../../../stream/fences/fence-map.ts'

/** A crossing of one border: the index of the first fix on the new side, and of the fix with which it is told. */
interface Told {
  first: number
  told: number
  isInside: boolean
}

/** A stay on one side of a border, as far as it is known. */
interface Stay {
  first: number
  last: number
  isInside: boolean
  /** Whether one of its fixes is far enough from the border. */
  isFar: boolean
  /** Whether it has lasted too, so that the subject is on this side now. */
  counts: boolean
}

export interface Followed {
  crossings: Told[]
  /** The stay before the span. Null if it is not known where the subject was: earlier fixes are needed. */
  before: Stay | null
  /** Whether a stay counts by fixes after the span alone, so that what follows does not depend on the span. */
  isSettled: boolean
  /** The last stay, unless it counts or leads back to where the subject was. */
  pending: Stay | null
}

/**
 * Follows a subject over one border. A stay begins with a fix on the other side, and counts once one of its fixes has come
 * at least `dwellMs` after the first, and one of them was far enough from the border. It is a crossing if the last stay
 * that counted was on the other side. Undecided fixes change nothing.
 *
 * `zoneAt` returns the zone of a fix, by its index. The span begins after the fix `before`, and ends with the fix `last`.
 * Where the history begins, the subject is on the side of its first decided fix.
 */
export function followBorder(
  times: readonly number[],
  zoneAt: (index: number) => Zone,
  span: { before: number; last: number; dwellMs: number; isBeginning: boolean },
): Followed {
  const crossings: Told[] = []
  let side: boolean | null = null
  let stay: Stay | null = null
  let before: Stay | null = null
  let after: Stay | null = null
  const follow = (last: Stay | null, index: number, zone: Zone): Stay => {
    const isInside = zone > ZONE.undecided
    const begun = { first: index, last: index, isInside, isFar: false, counts: false }
    const now = last?.isInside === isInside ? last : begun
    now.last = index
    now.isFar ||= zone === ZONE.farInside || zone === ZONE.farOutside
    return now
  }
  const lasts = ({ first, isFar }: Stay, time: number) =>
    isFar && time - (times[first] as number) >= span.dwellMs
  let isSettled = false
  for (const [index, time] of times.entries()) {
    const zone = zoneAt(index)
    if (zone !== ZONE.undecided) {
      const isFirst = stay === null
      stay = follow(stay, index, zone)
      const { first, isInside } = stay
      if (isFirst && span.isBeginning) side = isInside
      if (!stay.counts && lasts(stay, time)) {
        stay.counts = true
        if (side !== null && side !== isInside) crossings.push({ first, told: index, isInside })
        side = isInside
      }
      if (index > span.last && !isSettled) {
        after = follow(after, index, zone)
        isSettled = lasts(after, time)
      }
    }
    if (index === span.before && side !== null) before = stay && { ...stay }
  }
  return {
    crossings,
    before,
    isSettled,
    pending: stay && !stay.counts && stay.isInside !== side ? stay : null,
  }
}
