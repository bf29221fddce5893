import { type KeyboardEvent, useEffect, useRef } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { IconButton } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { RATES } from './choice.ts'
import { type Player, useIsPlaying, usePlayerTime } from './player.ts'
import type { Span } from './queries.ts'

const SECOND_MS = 1_000
const STEP_MS = 10 * SECOND_MS
const MINUTE_MS = 60 * SECOND_MS
const PAGE_MS = 10 * MINUTE_MS

/** Play and pause, how fast, and what the clock showed. */
export function Transport(props: { player: Player; rate: number; onRate: (rate: number) => void }) {
  const { player, rate, onRate } = props
  const { playback: t } = useTexts()
  const format = useFormat()
  const isPlaying = useIsPlaying(player)
  const time = usePlayerTime(player, SECOND_MS)
  return (
    <div className="transport">
      <IconButton
        className="play"
        icon={isPlaying ? 'pause' : 'play'}
        label={isPlaying ? t.pause : t.play}
        onPress={() => (isPlaying ? player.stop() : player.play())}
      />
      <span className="play-clock">{format.seconds(time)}</span>
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

/** The time as a slider under the chart: arrow keys go by ten seconds, with Shift by minutes, the space bar plays. */
export function TimeSlider({ player, span }: { player: Player; span: Span }) {
  const { playback: t } = useTexts()
  const format = useFormat()
  const slider = useRef<HTMLInputElement>(null)
  useEffect(() => {
    let said = ''
    const show = () => {
      if (!slider.current) return
      slider.current.value = String(player.time)
      // In seconds, as the clock beside it.
      const text = format.seconds(Math.floor(player.time / SECOND_MS) * SECOND_MS)
      if (text !== said) slider.current.setAttribute('aria-valuetext', text)
      said = text
    }
    show()
    return player.onTime(show)
  }, [player, format])

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.shiftKey ? MINUTE_MS : STEP_MS
    const moves: Record<string, () => void> = {
      ArrowRight: () => player.seek(player.time + step),
      ArrowUp: () => player.seek(player.time + step),
      ArrowLeft: () => player.seek(player.time - step),
      ArrowDown: () => player.seek(player.time - step),
      PageUp: () => player.seek(player.time + PAGE_MS),
      PageDown: () => player.seek(player.time - PAGE_MS),
      Home: () => player.seek(span.from),
      End: () => player.seek(span.to),
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
