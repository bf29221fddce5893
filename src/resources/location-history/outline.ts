/** After a longer time without a fix the subject's way is unknown: a trip ends, and so does a line. */
const GAP_MS = 30 * 60_000

export const isGap = (from: number, to: number): boolean => Math.abs(to - from) > GAP_MS

/** Finds the gaps and the range of longitudes of tracks from all of their points, before some are left out. */
export function createOutlines() {
  const tracks = new Map<number, { last: number; gaps: number[]; west: number; east: number }>()

  return {
    /** The points of each subject must come in order of time, forwards or backwards. */
    add({ subject, recordedAt, lng }: { subject: number; recordedAt: number; lng: number }): void {
      const track = tracks.get(subject)
      if (!track) {
        tracks.set(subject, { last: recordedAt, gaps: [], west: lng, east: lng })
        return
      }
      if (isGap(track.last, recordedAt)) track.gaps.push(Math.min(track.last, recordedAt))
      track.last = recordedAt
      track.west = Math.min(track.west, lng)
      track.east = Math.max(track.east, lng)
    },

    /** Whether there is a gap between two times of a subject. */
    hasGap(subject: number, from: number, to: number): boolean {
      const gaps = tracks.get(subject)?.gaps ?? []
      const [begin, end] = [Math.min(from, to), Math.max(from, to)]
      const sign = (gaps[0] ?? 0) <= (gaps.at(-1) ?? 0) ? 1 : -1
      const target = sign === 1 ? begin : end
      let [low, high] = [0, gaps.length]
      while (low < high) {
        const middle = (low + high) >> 1
        const isBefore = sign === 1 ? (gaps[middle] as number) < target : (gaps[middle] as number) >= target
        if (isBefore) low = middle + 1
        else high = middle
      }
      const gap = gaps[low]
      return gap !== undefined && gap >= begin && gap < end
    },

    spanOf: (subject: number) => tracks.get(subject) ?? null,
  }
}

export type Outlines = ReturnType<typeof createOutlines>

/** Whether a line between neighbours may cross the antimeridian by the shorter way, as in RFC 7946. */
export const mayCross = (west: number, east: number): boolean => east - west > 180
