import { useState } from 'react'
import { Link } from 'react-router'
import { serverNow } from '../../clock.ts'
import { useFormat } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import {
  type Figure,
  type History,
  lengthOf,
  type Point,
  piecesOf,
  readValue,
  reasonsOf,
  type Unit,
  type Verdict,
} from './figures.ts'
import { Plot } from './plot.tsx'
import { useServerTexts } from './texts.ts'
import { useUnits } from './units.ts'

/** A forecast needs room to the right of now. */
const AHEAD = 0.25
const MOST_REASONS = 4

/** One figure: its value of now, its plot with a table behind it, whether it is well, and otherwise the next step. */
export function Card({ figure, history }: { figure: Figure; history: History }) {
  const t = useServerTexts()
  const format = useFormat()
  const units = useUnits()
  const { name, lines, unit } = figure
  const { samples, verdicts, period, sampleSeconds, diskFullAt } = history
  const verdict = verdicts.find(one => one.figure === name) as Verdict
  const title = t.figures[name]
  const now = serverNow()
  const isDisk = name === 'disk'
  const fullAt = isDisk && diskFullAt !== null ? Date.parse(diskFullAt) : null
  const [from, to] = [now - lengthOf(period), fullAt === null ? now : now + AHEAD * lengthOf(period)]
  const drawn = lines.map(line => ({ name: line, pieces: piecesOf(samples, line, sampleSeconds * 1_000) }))
  const values = drawn.flatMap(({ pieces }) => pieces.flat().map(({ value }) => value))
  const write = (value: number) => units[unit](value)
  const label =
    values.length === 0
      ? t.noPlot(title)
      : t.plot(
          title,
          format.dateTime(from),
          format.dateTime(now),
          write(Math.min(...values)),
          write(Math.max(...values)),
        )
  const latest = samples.at(-1)
  const value = latest && lines[0] ? readValue(latest, lines[0]) : null
  const size = isDisk ? (latest?.diskSizeBytes ?? null) : null
  const forecast =
    fullAt === null || size === null ? null : along(drawn[0]?.pieces.at(-1)?.at(-1), fullAt, size, to)
  return (
    <section className="health-card" data-state={verdict.state} aria-labelledby={`health-${name}`}>
      <header>
        <h2 id={`health-${name}`}>{title}</h2>
        <span className={`health-state ${verdict.state}`}>{t.states[verdict.state]}</span>
      </header>
      <p className="health-value">
        {value === null ? t.unknown : size === null ? write(value) : t.ofDisk(write(value), write(size))}
      </p>
      {lines.length > 1 && (
        <p className="health-keys" aria-hidden="true">
          {lines.map((line, index) => (
            <span key={line} className={`plot-key-${index + 1}`}>
              {t.series[line]}
            </span>
          ))}
        </p>
      )}
      <Plot {...{ label, from, to, write, forecast }} lines={drawn} most={size ?? undefined} />
      <p className="health-times" aria-hidden="true">
        <span>{period === 'day' ? format.since(from) : format.longDate(format.dateOf(from))}</span>
        <span>{to > now ? format.longDate(format.dateOf(to)) : format.clock(now)}</span>
      </p>
      <p className={verdict.state === 'good' ? 'hint' : `health-advice ${verdict.state}`}>
        {t.causes[verdict.cause]}
        {isDisk && verdict.state !== 'unknown' && (
          <> {fullAt === null ? t.notFull : t.full(format.longDate(format.dateOf(fullAt)))}</>
        )}
      </p>
      {(name === 'stored' || name === 'shown') && <p className="hint">{t.notes[name]}</p>}
      {name === 'rejections' && <Reasons history={history} />}
      <FigureTable figure={figure} history={history} />
    </section>
  )
}

/** The point at `to` of the line from the last value to a full disk. */
function along(last: Point | undefined, fullAt: number, size: number, to: number): Point | null {
  if (!last || fullAt <= last.at) return null
  const end = Math.min(to, fullAt)
  return { at: end, value: last.value + ((size - last.value) * (end - last.at)) / (fullAt - last.at) }
}

function Reasons({ history }: { history: History }) {
  const t = useServerTexts()
  const format = useFormat()
  const reasons = reasonsOf(history.samples)
  if (reasons.length === 0) return null
  return (
    <p className="hint">
      {t.byReason}{' '}
      {reasons
        .slice(0, MOST_REASONS)
        .map(([reason, count]) => `${reason} ${format.count(count)}`)
        .join(', ')}
      . <Link to={urls.rejections}>{t.toRejections}</Link>
    </p>
  )
}

/** The same figures as a table, drawn when it is opened: a day has 1,440 rows. */
function FigureTable({ figure, history }: { figure: Figure; history: History }) {
  const t = useServerTexts()
  const format = useFormat()
  const units = useUnits()
  const [isOpen, setOpen] = useState(false)
  const { lines, unit, more = [] } = figure
  const columns: { name: Figure['lines'][number]; unit: Unit }[] = [
    ...lines.map(name => ({ name, unit })),
    ...more,
  ]
  return (
    <details className="more-fields" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{t.table}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is scrolled by keys too
        <section className="health-table" tabIndex={0} aria-label={t.figures[figure.name]}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.time}</th>
                {columns.map(({ name }) => (
                  <th key={name} scope="col">
                    {t.series[name]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {history.samples.toReversed().map(sample => (
                <tr key={sample.at}>
                  <th scope="row">{format.dateTime(sample.at)}</th>
                  {columns.map(({ name, unit }) => {
                    const value = readValue(sample, name)
                    return <td key={name}>{value === null ? '–' : units[unit](value)}</td>
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}
