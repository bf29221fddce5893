import { useSyncExternalStore } from 'react'
import type { Span } from './address.ts'

/** The clock of the playback: it runs at `rate` times real time, skips gaps without data, and stops at the end. */
export function createPlayer() {
  let [from, to] = [0, 0]
  let gaps: readonly Span[] = []
  let time = 0
  let rate = 1
  let playing = false
  let frame = 0
  let before = 0
  const onTime = new Set<() => void>()
  const onState = new Set<() => void>()
  const onSkip = new Set<(gap: Span) => void>()

  function tick(now: number) {
    // A hidden page continues where it was.
    const passed = Math.min(now - before, MAX_STEP_MS)
    before = now
    const next = time + passed * rate
    const gap = gaps.find(one => next > one.from && next < one.to)
    set(Math.min(gap ? gap.to : next, findEnd()))
    if (gap && gap.from > from && gap.to < to) for (const listener of onSkip) listener(gap)
    if (time >= findEnd()) stop()
    else frame = requestAnimationFrame(tick)
  }

  function set(next: number) {
    const within = Math.min(to, Math.max(from, next))
    if (within === time) return
    time = within
    for (const listener of onTime) listener()
  }

  const findBegin = () => (gaps[0]?.from === from ? gaps[0].to : from)
  const findEnd = () => {
    const last = gaps.at(-1)
    return last?.to === to ? last.from : to
  }

  function stop() {
    cancelAnimationFrame(frame)
    if (!playing) return
    playing = false
    for (const listener of onState) listener()
  }

  return {
    get time() {
      return time
    },
    get playing() {
      return playing
    },
    setRate(next: number) {
      rate = next
    },
    /** `gaps` are in order. */
    setRange(next: Span, within: readonly Span[]) {
      from = next.from
      to = next.to
      gaps = within
      set(time)
    },
    /** The first time with data. */
    get begin() {
      return findBegin()
    },
    /** The last time with data. */
    get end() {
      return findEnd()
    },
    seek: set,
    play() {
      if (playing || to <= from) return
      // At the end it starts again from the beginning.
      if (time >= findEnd()) set(findBegin())
      playing = true
      before = performance.now()
      frame = requestAnimationFrame(tick)
      for (const listener of onState) listener()
    },
    stop,
    /** Calls the listener at every change of the time: sixty times a second while it plays. */
    onTime(listener: () => void): () => void {
      onTime.add(listener)
      return () => onTime.delete(listener)
    },
    onState(listener: () => void): () => void {
      onState.add(listener)
      return () => onState.delete(listener)
    },
    /** Calls the listener after a gap was skipped. */
    onSkip(listener: (gap: Span) => void): () => void {
      onSkip.add(listener)
      return () => onSkip.delete(listener)
    },
  }
}

export type Player = ReturnType<typeof createPlayer>

const MAX_STEP_MS = 250

export const useIsPlaying = (player: Player): boolean =>
  useSyncExternalStore(player.onState, () => player.playing)

/** The time in steps, for values that are read and not watched moving. */
export const usePlayerTime = (player: Player, stepMs: number): number =>
  useSyncExternalStore(player.onTime, () => Math.floor(player.time / stepMs) * stepMs)
