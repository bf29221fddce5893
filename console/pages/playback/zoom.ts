import { useEffect, useMemo } from 'react'
import type { Change, Span } from './address.ts'
import type { Player } from './player.ts'

/** At this zoom the axis has room for two minutes, and the fixes of most devices lie apart. */
const CLOSEST_MS = 2 * 60_000
const STEP = 2

export interface Zoom {
  /** Whether the whole span is shown. */
  isWhole: boolean
  /** Whether the zoom is at its closest. */
  isClosest: boolean
  show(next: Span): void
  closer(): void
  further(): void
  whole(): void
}

/** The zoomed part of a span. It follows the time of the player, so no button leads out of view. */
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
      // Turns pages: the time is at the beginning of the new part, or at its end after going back.
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
      // The time stays inside of the part, also in the address: an address that is updated later would lead to another part.
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

/** A part of a span with an allowed width, moved inside of the span; the span itself if the part covers it. */
export function zoomInto(span: Span, zoom: Span | null): Span {
  if (!zoom) return span
  const begin = Math.floor(zoom.from)
  const wide = Math.max(CLOSEST_MS, Math.round(zoom.to - zoom.from))
  if (wide >= span.to - span.from) return span
  const from = Math.min(span.to - wide, Math.max(span.from, begin))
  return { from, to: from + wide }
}
