import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { Choose, Field } from '../../parts/parts.tsx'
import { useLocale } from '../../texts/texts.tsx'
import {
  FREQUENCIES,
  type Frequency,
  MONTH_DAYS,
  type RepeatDraft,
  WEEKDAYS,
  type Weekday,
  weekdayName,
} from './repeats.ts'
import { useScheduleTexts } from './texts.ts'

/** "Every 2 weeks on Mon Wed": the rule of a schedule as fields in the order of a sentence. */
export function RepeatFields({
  value,
  onChange,
}: {
  value: RepeatDraft
  onChange: (value: RepeatDraft) => void
}) {
  const t = useScheduleTexts()
  const locale = useLocale()
  const change = (next: Partial<RepeatDraft>) => onChange({ ...value, ...next })
  const { frequency, interval, weekdays, monthDays, rrule } = value
  if (rrule !== '')
    return <Field label={t.rule} name="repeat.rrule" value={rrule} onChange={rrule => change({ rrule })} />
  const count = Number(interval) || 1
  const isByWeekday = frequency === 'daily' || frequency === 'weekly'
  return (
    <div className="schedule-repeat">
      <span aria-hidden="true">{t.every}</span>
      <Field
        label={t.interval}
        name="repeat.interval"
        value={interval}
        onChange={interval => change({ interval })}
        inputMode="numeric"
      />
      <Choose
        label={t.unit}
        name="repeat.frequency"
        value={frequency}
        onChange={id => change({ frequency: id as Frequency })}
        choices={FREQUENCIES.map(id => ({ id, name: t.units(id, count) }))}
      />
      <span aria-hidden="true">{t.on}</span>
      {isByWeekday ? (
        <ToggleButtonGroup
          className="switch"
          aria-label={t.weekdays}
          selectionMode="multiple"
          selectedKeys={weekdays}
          onSelectionChange={keys => change({ weekdays: WEEKDAYS.filter(day => keys.has(day)) as Weekday[] })}
        >
          {WEEKDAYS.map(day => (
            <ToggleButton key={day} id={day}>
              {weekdayName(day, locale, 'short')}
            </ToggleButton>
          ))}
        </ToggleButtonGroup>
      ) : (
        <ToggleButtonGroup
          className="switch month-days"
          aria-label={t.monthDays}
          selectionMode="multiple"
          selectedKeys={monthDays.map(String)}
          onSelectionChange={keys => change({ monthDays: MONTH_DAYS.filter(day => keys.has(String(day))) })}
        >
          {MONTH_DAYS.map(day => (
            <ToggleButton key={day} id={String(day)}>
              {day === -1 ? t.lastDay : day}
            </ToggleButton>
          ))}
        </ToggleButtonGroup>
      )}
    </div>
  )
}
