import { useEffect, useMemo } from 'react'
import type { Change, Span } from './address.ts'
import type { Player } from './player.ts'

/** Where the chart has room for two minutes on its axis and the fixes of most devices lie apart. */
const CLOSEST_MS = 2 * 60_000
const STEP = 2

export interface Zoom {
  /** Whether all of it is shown. */
  isWhole: boolean
  /** Whether it goes no closer. */
  isClosest: boolean
  show(next: Span): void
  closer(): void
  further(): void
  whole(): void
}

/** The part of a span that somebody looks at closely. It goes along with the time: no press of a button leads out of sight. */
export function useZoom(
  span: Span | null,
  player: Player,
  zoom: Span | null,
  change: Change,
): { view: Span | null; zoom: Zoom } {
  const view = useMemo(() => span && zoomInto(span, zoom), [span, zoom])

  useEffect(() => {
    if (!span || !view || view === span) return
    const turn = () => {
      const { time } = player
      if (time >= view.from && time <= view.to) return
      // As a page is turned: the time is where the part begins, or ends where it went back.
      const wide = view.to - view.from
      const from = time > view.to ? time : time - wide
      change({ zoom: { from, to: from + wide } })
    }
    turn()
    return player.onTime(turn)
  }, [span, view, player, change])

  return useMemo(() => {
    const show = (next: Span) => {
      if (!span) return
      const shown = zoomInto(span, next)
      // The time is in it, also in the address, which would lead to another part where it learned of it later.
      const at = Math.round(Math.min(shown.to, Math.max(shown.from, player.time)))
      player.seek(at)
      change({ zoom: shown === span ? null : shown, at })
    }
    const by = (factor: number) => {
      if (!view) return
      const share = (player.time - view.from) / (view.to - view.from)
      const wide = Math.max(CLOSEST_MS, (view.to - view.from) * factor)
      const from = player.time - share * wide
      show({ from, to: from + wide })
    }
    return {
      view,
      zoom: {
        isWhole: view === span,
        isClosest: view !== null && view.to - view.from <= CLOSEST_MS,
        show,
        closer: () => by(1 / STEP),
        further: () => by(STEP),
        whole: () => change({ zoom: null }),
      },
    }
  }, [span, view, player, change])
}

/** A part of a span, as wide as one can look at, and moved to where the span is; the span itself where it is all of it. */
export function zoomInto(span: Span, zoom: Span | null): Span {
  if (!zoom) return span
  const begin = Math.floor(zoom.from)
  const wide = Math.max(CLOSEST_MS, Math.round(zoom.to - zoom.from))
  if (wide >= span.to - span.from) return span
  const from = Math.min(span.to - wide, Math.max(span.from, begin))
  return { from, to: from + wide }
}
