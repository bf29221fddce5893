import { turn } from '../geometry.ts'

/** Longitudes of a way, each counted on from the one before it by the shorter way round. */
export function unwrap(lngs: readonly number[]): number[] {
  const [first = 0] = lngs
  let at = first
  return lngs.map((lng, index) => {
    if (index > 0) at += turn(lng - (lngs[index - 1] as number))
    return at
  })
}
