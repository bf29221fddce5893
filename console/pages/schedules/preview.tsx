import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/interface.d.ts'
import { Trouble } from '../../parts/parts.tsx'
import { useDebounced } from '../../parts/use-debounced.ts'
import { useFormat, useLocale } from '../../texts/texts.tsx'
import { offsetAt, type readRepeat } from './repeats.ts'
import { useScheduleTexts } from './texts.ts'

const COUNT = 10
const LINES = [...Array(COUNT).keys()]

interface Timing {
  repeat: ReturnType<typeof readRepeat>
  startTime: string
  endTime: string | null
  timezone: string
}

/** The next times of a rule, computed by the server as one types. Those after a change of the clocks say so. */
export function Preview({ timing, isNew }: { timing: Timing; isNew: boolean }) {
  const t = useScheduleTexts()
  const format = useFormat()
  const locale = useLocale()
  const asked = useDebounced(JSON.stringify(timing))
  const { data, error } = useQuery<components['schemas']['Occurrences']>({
    queryKey: ['schedules', 'preview', asked],
    retry: false,
    placeholderData: before => before,
    queryFn: async ({ signal }) => {
      const body = { ...(JSON.parse(asked) as Timing), count: COUNT }
      return (await answered(api.POST('/api/v3/task/schedules/preview', { body, signal }))).data
    },
  })
  if (error) return <Trouble error={error} isDeed />
  if (!data)
    return (
      <section className="stack-small" aria-label={t.preview}>
        <h3>{t.preview}</h3>
        {/* The lines that are about to come keep their place. */}
        <ol className="schedule-times" aria-hidden="true">
          {LINES.map(line => (
            <li key={line}>&nbsp;</li>
          ))}
        </ol>
        {isNew && <p className="hint">&nbsp;</p>}
      </section>
    )
  const { timezone } = JSON.parse(asked) as Timing
  const written = new Intl.DateTimeFormat(locale, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZone: timezone,
  })
  const times = data.occurrences.map(text => Date.parse(text))
  const isChanged = (at: number, index: number) => {
    const before = times[index - 1]
    return before !== undefined && offsetAt(before, timezone) !== offsetAt(at, timezone)
  }
  return (
    <section className="stack-small" aria-label={t.preview}>
      <h3>{t.preview}</h3>
      {times.length === 0 && <p className="hint">{t.noneLeft}</p>}
      <ol className="schedule-times">
        {times.map((at, index) => (
          <li key={at}>
            <time dateTime={new Date(at).toISOString()}>{written.format(at)}</time>
            {isChanged(at, index) && <span className="badge risk">{t.clockChange}</span>}
          </li>
        ))}
      </ol>
      {isNew && <p className="hint">{data.past > 0 ? t.past(format.count(data.past)) : '\u00a0'}</p>}
    </section>
  )
}
