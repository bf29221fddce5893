import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { fromRem } from '../../parts/rem.ts'
import { onTheme } from '../../preferences.ts'
import { useFormat } from '../../texts/texts.tsx'
import type { Span } from './address.ts'
import type { PlayedSubject } from './played-subject.ts'
import type { Player } from './player.ts'
import { usePlaybackTexts } from './texts.ts'
import { GAP_MS, type Track } from './tracks.ts'
import type { Zoom } from './zoom.ts'

/** Room for the unit above the numbers. */
const CHART_TOP_PX = fromRem(1.125)
/**
 * Room for the numbers on the left and the last time on the right: the strips below lie under the same times (playback.css).
 */
const CHART_LEFT_PX = fromRem(2.75)
const CHART_RIGHT_PX = fromRem(1.75)
/** A shorter movement is a click. */
const DRAG_PX = 6
const AXIS_PX = fromRem(1.5)
/** The axis reaches at least this speed, in either unit. */
const MIN_PER_HOUR = 20
const HOUR_MS = 3_600_000
const STEPS_MS = [1 / 60, 1 / 30, 1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2, 3, 4, 6].map(hours => hours * HOUR_MS)
const LABEL_PX = fromRem(3.5)
/** The modes in which uPlot joins tables. */
const [RETAIN_NULLS, EXPAND_NULLS] = [1, 2] as const

interface Props {
  shown: readonly PlayedSubject[]
  /** The gaps that the player skips. */
  gaps: readonly Span[]
  span: Span
  player: Player
  zoom: Zoom
}

/** The speeds of all subjects over time. A press moves the player there, a drag zooms in. */
export function SpeedChart({ shown, gaps, span, player, zoom }: Props) {
  const t = usePlaybackTexts()
  const format = useFormat()
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(zoom)
  const share = (ms: number) => `${(ms / (span.to - span.from)) * 100}%`
  latest.current = zoom

  useEffect(() => {
    const target = box.current
    if (!target) return
    let chart = draw()
    let stopHead = followTime(chart, player)

    function draw(): uPlot {
      const style = getComputedStyle(document.documentElement)
      const read = (name: string) => style.getPropertyValue(`--${name}`).trim()
      const font = `${fromRem(0.6875)}px ${getComputedStyle(document.body).fontFamily}`
      const axis = { stroke: read('muted'), font, ticks: { show: false } }
      const grid = { stroke: read('line'), width: 1 }
      const options: uPlot.Options = {
        width: (target as HTMLElement).clientWidth,
        height: (target as HTMLElement).clientHeight,
        padding: [CHART_TOP_PX, CHART_RIGHT_PX, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false, dist: DRAG_PX },
          bind: {
            dblclick: () => () => {
              latest.current.whole()
              return null
            },
          },
        },
        hooks: {
          setSelect: [
            chart => {
              const { left, width } = chart.select
              if (width < DRAG_PX) return
              latest.current.show({ from: chart.posToVal(left, 'x'), to: chart.posToVal(left + width, 'x') })
              chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            },
          ],
        },
        scales: {
          x: { time: false, range: () => [span.from, span.to] },
          y: { range: (_chart, _min, max) => [0, Math.max(MIN_PER_HOUR, (max ?? 0) * 1.1)] },
        },
        axes: [
          {
            ...axis,
            grid,
            size: AXIS_PX,
            gap: 4,
            // At full hours of local time, whatever the offset. The hour that is put forward is left out.
            splits: chart =>
              roundTimes(span, chart.width - CHART_LEFT_PX - CHART_RIGHT_PX, format.startOfDay(span.from)),
            values: (_chart, times) => format.clocks(times),
          },
          {
            ...axis,
            grid,
            size: CHART_LEFT_PX,
            gap: 6,
            space: 26,
            values: (_chart, all) => all.map(speed => format.count(speed)),
          },
        ],
        series: [
          {},
          ...shown.map(({ color }) => ({
            stroke: read(`track-${color + 1}`),
            width: 1.5,
            points: { show: false },
            fill: shown.length === 1 ? `${read(`track-${color + 1}`)}22` : undefined,
          })),
        ],
      }
      const tables = shown.map(({ track }) => toTable(track, format.perHour))
      // The times of other subjects must not fill a subject's gap: it stays as wide as it is.
      const modes = tables.map(() => [RETAIN_NULLS, EXPAND_NULLS])
      return new uPlot(options, uPlot.join(tables, modes), target as HTMLElement)
    }

    const again = () => {
      stopHead()
      chart.destroy()
      chart = draw()
      stopHead = followTime(chart, player)
    }
    const stopTheme = onTheme(again)
    const sizes = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = target
      if (width > 0 && (width !== chart.width || height !== chart.height)) chart.setSize({ width, height })
    })
    sizes.observe(target)
    return () => {
      sizes.disconnect()
      stopTheme()
      stopHead()
      chart.destroy()
    }
  }, [shown, span, player, format])

  return (
    <div className="speed-chart" ref={box} role="img" aria-label={t.chart}>
      <span className="chart-unit">{format.speedUnit}</span>
      <div className="chart-gaps">
        {gaps.map(({ from, to }) => (
          <span key={from} style={{ left: share(from - span.from), width: share(to - from) }} />
        ))}
      </div>
    </div>
  )
}

/**
 * Times and speeds, with nothing for unknown values. uPlot draws a gap for null, and none for values that `join` leaves out.
 */
function toTable(
  { times, speeds, implied, count }: Track,
  perHour: (mps: number) => number,
): uPlot.AlignedData {
  const x: number[] = []
  const y: (number | null)[] = []
  for (let index = 0; index < count; index++) {
    const time = times[index] as number
    const before = times[index - 1] ?? time
    const speed = speeds[index] as number
    const shown = Number.isNaN(speed) ? null : perHour(speed)
    if (time - before > GAP_MS) {
      x.push(time - 1)
      y.push(null)
    } else if (implied[index] && time - before > 1) {
      // An implied speed holds for the whole way to the fix.
      x.push(before + 1)
      y.push(shown)
    }
    x.push(time)
    y.push(shown)
  }
  return [x, y]
}

function roundTimes({ from, to }: Span, width: number, startOfDay: number): number[] {
  const room = Math.max(2, Math.floor(width / LABEL_PX))
  const step = STEPS_MS.find(one => (to - from) / one <= room) ?? (STEPS_MS.at(-1) as number)
  const first = startOfDay + Math.ceil((from - startOfDay) / step) * step
  const times: number[] = []
  for (let time = first; time <= to; time += step) times.push(time)
  return times
}

/** The line at the time of the player, and the selection of a time by a press or a finger. */
function followTime(chart: uPlot, player: Player): () => void {
  const head = document.createElement('div')
  head.className = 'play-head'
  chart.over.append(head)
  const place = () => {
    head.style.transform = `translateX(${chart.valToPos(player.time, 'x')}px)`
  }
  const onPointer = (event: PointerEvent) => {
    if (event.buttons !== 1) return
    const begins = event.type === 'pointerdown'
    // A drag with the mouse zooms.
    if (!begins && event.pointerType === 'mouse') return
    if (begins && event.pointerType !== 'mouse') chart.over.setPointerCapture(event.pointerId)
    player.seek(chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, 'x'))
  }
  chart.over.addEventListener('pointerdown', onPointer)
  chart.over.addEventListener('pointermove', onPointer)
  chart.hooks.setSize = [...(chart.hooks.setSize ?? []), place]
  const stop = player.onTime(place)
  place()
  return stop
}
