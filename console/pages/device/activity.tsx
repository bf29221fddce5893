import 'uplot/dist/uPlot.min.css'
import { useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import { serverNow } from '../../clock.ts'
import { Trouble } from '../../parts/parts.tsx'
import { fromRem } from '../../parts/rem.ts'
import { onTheme } from '../../preferences.ts'
import { useFormat, useLocale, useTexts } from '../../texts/texts.tsx'
import { useActivity } from './device-queries.ts'
import { useDeviceTexts } from './texts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The days that the server tells of. */
const HOURS = 7 * 24
const HOUR_MINUTES = 60
const AXIS_PX = fromRem(1.5)
const LEFT_PX = fromRem(3.25)

/** The battery of the last week, and for how long the device was silent in each hour. */
export default function Activity({ deviceId }: { deviceId: string }) {
  const t = useDeviceTexts()
  const texts = useTexts()
  const format = useFormat()
  const activity = useActivity(deviceId)
  const hours = activity.data
  const data = useMemo(() => toSeries(hours ?? []), [hours])
  if (activity.error) return <Trouble error={activity.error} onRetry={() => void activity.refetch()} />
  if (!hours) return <p className="hint loading">{texts.loading}</p>
  if (hours.length === 0) return <p className="hint">{t.noActivity}</p>
  const levels = data.battery.filter(level => level !== null)
  const lowest = Math.min(...levels)
  const silent = data.silence.filter(minutes => minutes === HOUR_MINUTES).length
  return (
    <div className="plots">
      <figure>
        <figcaption>{t.battery}</figcaption>
        {levels.length === 0 ? (
          <p className="hint">{t.noBattery}</p>
        ) : (
          <Plot
            label={t.batteryNow(format.percent(levels.at(-1) as number), format.percent(lowest))}
            times={data.times}
            values={data.battery}
            max={100}
            color="good"
            unit="%"
          />
        )}
      </figure>
      <figure>
        <figcaption>{t.silence}</figcaption>
        <Plot
          label={t.silentHours(format.count(silent), format.count(data.times.length))}
          times={data.times}
          values={data.silence}
          max={HOUR_MINUTES}
          color="idle-mark"
          unit={t.silenceUnit}
          isBars
        />
      </figure>
    </div>
  )
}

interface Hour {
  from: string
  battery: number | null
  longestGapS: number | null
}

/** Every hour of the week, from the first one with points. Without points an hour is silent as a whole. */
function toSeries(hours: readonly Hour[], now = serverNow()) {
  const byHour = new Map(hours.map(hour => [Date.parse(hour.from), hour]))
  const last = Math.floor(now / HOUR_MS) * HOUR_MS
  const first = Math.max(Math.min(...byHour.keys()), last - HOURS * HOUR_MS)
  const [times, battery, silence]: [number[], (number | null)[], number[]] = [[], [], []]
  for (let time = first; time <= last; time += HOUR_MS) {
    const hour = byHour.get(time)
    times.push(time)
    battery.push(hour?.battery ?? null)
    // A gap ends in the hour; what lay in hours before is theirs.
    silence.push(hour ? Math.min(HOUR_MINUTES, (hour.longestGapS ?? 0) / 60) : HOUR_MINUTES)
  }
  return { times, battery, silence }
}

interface PlotProps {
  label: string
  times: number[]
  values: (number | null)[]
  max: number
  color: string
  unit: string
  isBars?: boolean
}

function Plot({ label, times, values, max, color, unit, isBars = false }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const format = useFormat()
  const locale = useLocale()
  useEffect(() => {
    const target = box.current
    if (!target) return
    const weekday = new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone: 'UTC' })
    const draw = () => {
      const style = getComputedStyle(document.documentElement)
      const read = (name: string) => style.getPropertyValue(`--${name}`).trim()
      const font = `${fromRem(0.6875)}px ${getComputedStyle(document.body).fontFamily}`
      const axis = { stroke: read('muted'), font, ticks: { show: false } }
      const stroke = read(color)
      const options: uPlot.Options = {
        width: target.clientWidth,
        height: target.clientHeight,
        padding: [8, 12, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false }, y: { range: [0, max] } },
        axes: [
          {
            ...axis,
            grid: { stroke: read('line'), width: 1 },
            size: AXIS_PX,
            splits: () => days(times, format.startOfDay()),
            values: (_chart, at) =>
              at.map(time => weekday.format(Date.parse(`${format.dateOf(time)}T12:00:00Z`))),
          },
          {
            ...axis,
            grid: { stroke: read('line'), width: 1 },
            size: LEFT_PX,
            splits: () => [0, max / 2, max],
            values: (_chart, all) => all.map((one, index) => `${one}${index === 2 ? ` ${unit}` : ''}`),
          },
        ],
        series: [
          {},
          {
            ...{ stroke, width: isBars ? 0 : 1.5, fill: isBars ? stroke : `${stroke}22` },
            ...{ points: { show: false }, spanGaps: false },
            ...(isBars && uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [1, 100], align: 1 }) }),
          },
        ],
      }
      return new uPlot(options, [times, values], target)
    }
    let chart = draw()
    const stopTheme = onTheme(() => {
      chart.destroy()
      chart = draw()
    })
    const sizes = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = target
      if (width > 0 && (width !== chart.width || height !== chart.height)) chart.setSize({ width, height })
    })
    sizes.observe(target)
    return () => {
      sizes.disconnect()
      stopTheme()
      chart.destroy()
    }
  }, [times, values, max, color, unit, isBars, format, locale])
  return <div className="plot" ref={box} role="img" aria-label={label} />
}

/** The beginnings of days, from today backwards. */
function days(times: readonly number[], today: number): number[] {
  const [first = 0, last = 0] = [times[0], times.at(-1)]
  const found: number[] = []
  for (let time = today; time >= first; time -= DAY_MS) if (time <= last) found.unshift(time)
  return found
}
