import { type KeyboardEvent, useEffect, useRef } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { IconButton } from '../../parts/parts.tsx'
import { useFormat } from '../../texts/texts.tsx'
import { RATES, type Span } from './address.ts'
import { type Player, useIsPlaying, usePlayerTime } from './player.ts'
import { usePlaybackTexts } from './texts.ts'
import type { Zoom } from './zoom.ts'

const SECOND_MS = 1_000
const STEP_MS = 10 * SECOND_MS
const MINUTE_MS = 60 * SECOND_MS
const PAGE_MS = 10 * MINUTE_MS

/** The start of the next trip. */
const nextOf = (begins: readonly number[], time: number) => begins.find(begin => begin >= time + SECOND_MS)

/** Play and pause, the speed, and the time. */
export function Transport(props: {
  player: Player
  /** The starts of all trips, in order. */
  begins: readonly number[]
  zoom: Zoom
  rate: number
  onRate: (rate: number) => void
}) {
  const { player, begins, zoom, rate, onRate } = props
  const t = usePlaybackTexts()
  const format = useFormat()
  const isPlaying = useIsPlaying(player)
  const time = usePlayerTime(player, SECOND_MS)
  const next = nextOf(begins, time)
  return (
    <div className="transport">
      <IconButton
        className="play"
        icon={isPlaying ? 'pause' : 'play'}
        label={isPlaying ? t.pause : t.play}
        onPress={() => (isPlaying ? player.stop() : player.play())}
      />
      <span className="play-clock">{format.seconds(time)}</span>
      <IconButton
        icon="skip"
        label={t.nextTrip}
        isDisabled={next === undefined}
        onPress={() => next !== undefined && player.seek(next)}
      />
      <div className="zoom">
        <IconButton icon="plus" label={t.closer} isDisabled={zoom.isClosest} onPress={zoom.closer} />
        <IconButton icon="minus" label={t.further} isDisabled={zoom.isWhole} onPress={zoom.further} />
        <IconButton icon="all" label={t.whole} isDisabled={zoom.isWhole} onPress={zoom.whole} />
      </div>
      <ToggleButtonGroup
        className="switch rates"
        aria-label={t.rate}
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[String(rate)]}
        onSelectionChange={keys => onRate(Number([...keys][0]))}
      >
        {RATES.map(one => (
          <ToggleButton key={one} id={String(one)}>
            {t.times(one)}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
    </div>
  )
}

/**
 * The time as a slider under the chart. Arrow keys move by ten seconds, with Shift by minutes, N to the next trip, the space
 * bar plays, plus and minus zoom.
 */
export function TimeSlider(props: { player: Player; begins: readonly number[]; span: Span; zoom: Zoom }) {
  const { player, begins, span, zoom } = props
  const t = usePlaybackTexts()
  const format = useFormat()
  const slider = useRef<HTMLInputElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: other bounds move its thumb
  useEffect(() => {
    let spoken = ''
    const show = () => {
      if (!slider.current) return
      slider.current.value = String(player.time)
      // Whole seconds, so that the slider says the same time as the clock beside it.
      const text = format.seconds(Math.floor(player.time / SECOND_MS) * SECOND_MS)
      if (text !== spoken) slider.current.setAttribute('aria-valuetext', text)
      spoken = text
    }
    show()
    return player.onTime(show)
  }, [player, format, span])

  const onKeyDown = (event: KeyboardEvent) => {
    // With these modifiers the keys belong to the browser: Ctrl and plus enlarges text, Alt and an arrow goes back.
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const step = event.shiftKey ? MINUTE_MS : STEP_MS
    const moves: Record<string, () => void> = {
      ArrowRight: () => player.seek(player.time + step),
      ArrowUp: () => player.seek(player.time + step),
      ArrowLeft: () => player.seek(player.time - step),
      ArrowDown: () => player.seek(player.time - step),
      PageUp: () => player.seek(player.time + PAGE_MS),
      PageDown: () => player.seek(player.time - PAGE_MS),
      Home: () => player.seek(span.from),
      End: () => player.seek(Math.min(span.to, player.end)),
      n: () => player.seek(nextOf(begins, player.time) ?? player.time),
      '+': zoom.closer,
      '-': zoom.further,
      '0': zoom.whole,
      ' ': () => (player.playing ? player.stop() : player.play()),
    }
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    move()
  }
  return (
    <input
      className="time-slider"
      type="range"
      ref={slider}
      min={span.from}
      max={span.to}
      step={SECOND_MS}
      aria-label={t.time}
      title={t.keys}
      onInput={event => player.seek(Number(event.currentTarget.value))}
      onKeyDown={onKeyDown}
    />
  )
}
