import { Trouble } from '../../parts/parts.tsx'
import { useFormat } from '../../texts/texts.tsx'
import { PointMap } from './point-map.tsx'
import { useProfileTexts } from './texts.ts'
import type { Previewed, usePreview } from './use-preview.ts'

const DIGITS = 6
const TENTHS = 10
const round = (value: number) => String(Math.round(value * TENTHS) / TENTHS)

/** Shows all positions that are read from the messages on a map, and the values of the chosen message. */
export function Preview({
  preview,
  shown,
  hint,
}: {
  preview: ReturnType<typeof usePreview>
  shown: number
  hint: string | null
}) {
  const t = useProfileTexts()
  const points = preview.read?.flatMap(one => one.points) ?? []
  const read = preview.readOf(shown)
  return (
    <section className="stack" aria-label={t.preview}>
      <h3>{t.preview}</h3>
      {hint !== null && <p className="hint">{hint}</p>}
      {preview.error && <Trouble error={preview.error} />}
      <PointMap points={points} label={t.map} unseen={t.noWebgl} />
      <div className="stack" aria-live="polite">
        {read && <Read read={read} />}
      </div>
    </section>
  )
}

function Read({ read }: { read: Previewed }) {
  const t = useProfileTexts()
  const { points, rejected, skipped, device } = read
  return (
    <>
      {skipped !== null && (
        <p className="note">
          {t.skipped} <span lang="en">{skipped}</span>
        </p>
      )}
      {rejected.map(({ reason, message }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the sentences of one answer
        <p key={index} className="trouble">
          <span>
            {t.rejected} <span lang="en">{message}</span> <code>{reason}</code>
          </span>
        </p>
      ))}
      {points.length === 0 && rejected.length === 0 && skipped === null && (
        <p className="hint">{t.nothing}</p>
      )}
      {points.slice(0, MAX_POINTS).map((point, index) => (
        <Point
          // biome-ignore lint/suspicious/noArrayIndexKey: the positions of one message, in its order
          key={index}
          point={point}
          device={point.device ?? device}
          title={points.length > 1 ? t.point(String(index + 1), String(points.length)) : t.position}
        />
      ))}
    </>
  )
}

/** A message may hold 1,000; nobody reads more of them in a preview. */
const MAX_POINTS = 5

function Point(props: { point: Previewed['points'][number]; device: string | null; title: string }) {
  const { point, device, title } = props
  const t = useProfileTexts()
  const format = useFormat()
  const { lat, lng, timestamp, speed, heading, accuracy, altitude, battery, attributes } = point
  const values: [string, string | null][] = [
    [t.device, device],
    [t.fields.lat, t.degrees(lat.toFixed(DIGITS))],
    [t.fields.lng, t.degrees(lng.toFixed(DIGITS))],
    [t.fields.timestamp, format.sinceSeconds(Date.parse(timestamp))],
    [t.fields.speed, speed === null ? null : t.mps(round(speed))],
    [t.fields.heading, heading === null ? null : t.degrees(round(heading))],
    [t.fields.accuracy, accuracy === null ? null : t.metres(round(accuracy))],
    [t.fields.altitude, altitude === null ? null : t.metres(round(altitude))],
    [t.fields.battery, battery === null ? null : t.percent(round(battery))],
    ...Object.entries(attributes ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  ]
  return (
    <dl className="facts read-point" aria-label={title}>
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  )
}
