import type { JudgedFix, Span } from '../../../db/queries/geofence-spans.ts'
import { type Fences, type Judged, judgeSpan, type Stretch } from './judge.ts'

/** How many times as many fixes are read next, where those read do not decide. */
const MORE = 8
/** In one step; the rest of what follows a span is judged in further ones. */
const MAX_LATER = 5_000
/** A day with a fix a second. What was before is taken as the beginning of the history. Half a second to read. */
const MAX_EARLIER = 86_400

/** The fixes of a span, of which at most `within` were read, and at most `around` on each side of it. */
export function toStretch(
  span: Span,
  fixes: readonly JudgedFix[],
  { within, around }: { within: number; around: number },
): Stretch {
  const earlier = fixes.filter(({ at }) => at < span.from)
  const inside = fixes.filter(({ at }) => at >= span.from && at <= span.to)
  const isCut = inside.length >= within && (inside.at(-1) as JudgedFix).at < span.to
  return {
    // If the span was not read to its end, the next fix is not adjacent to its last one.
    fixes: isCut ? [...earlier, ...inside] : fixes,
    isBeginning: earlier.length < around,
    isEnd: !isCut && fixes.length - earlier.length - inside.length < around,
    isCut,
  }
}

/** Returns the last fixes of the span's subject before a time, or the first ones after it, in order of time. */
type ReadMore = (side: 'before' | 'after', at: number, limit: number) => Promise<JudgedFix[]>

/** Judges a span, and reads as many fixes around it as that takes. `more` is the number of those. */
export async function judgeStretch(
  read: ReadMore,
  span: Span,
  begun: Stretch,
  fences: Fences,
  maxCrossings: number,
): Promise<{ judged: Judged; more: number }> {
  let stretch = begun
  let [earlier, later] = [0, 0]
  for (;;) {
    const judged = judgeSpan(span, stretch, fences, maxCrossings)
    // A turn that had to go far back goes on for as long as a turn may.
    const mayGoOn = stretch.isCut && earlier > MAX_LATER && later === 0
    if (typeof judged !== 'string' && !mayGoOn) return { judged, more: earlier + later }
    const { fixes } = stretch
    const wanted = fixes.length * MORE
    if (judged === 'earlier') {
      const limit = Math.min(wanted, MAX_EARLIER - earlier)
      const found = await read('before', (fixes[0] as JudgedFix).at, limit)
      earlier += found.length
      const isBeginning = found.length < limit || earlier >= MAX_EARLIER
      stretch = { ...stretch, fixes: [...found, ...fixes], isBeginning }
    } else {
      const limit = Math.min(wanted, MAX_LATER - later)
      const found = await read('after', (fixes.at(-1) as JudgedFix).at, limit)
      later += found.length
      const isEnd = found.length < limit
      stretch = { ...stretch, fixes: [...fixes, ...found], isEnd, isCut: !isEnd && later >= MAX_LATER }
    }
  }
}
