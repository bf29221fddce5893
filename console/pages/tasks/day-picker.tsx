import { type DateValue, parseDate } from '@internationalized/date'
import { useEffect, useMemo, useState } from 'react'
import { serverNow } from '../../clock.ts'
import { DateChoice } from '../../parts/date-picker.tsx'
import { isDay, stepDay } from '../../parts/days.ts'
import { ActionButton, IconButton } from '../../parts/parts.tsx'
import { useFormat } from '../../texts/texts.tsx'
import { useTaskTexts } from './texts.ts'

/** A planner's day: any in the past or the future. */
export function TaskDayPicker({ day, onChange }: { day: string; onChange: (day: string) => void }) {
  const t = useTaskTexts()
  const format = useFormat()
  const today = format.dateOf(serverNow())
  /** While a year is typed, it is the year 2 at first. */
  const [typed, setTyped] = useState<DateValue | null>(null)
  useEffect(() => setTyped(now => (now?.toString() === day ? null : now)), [day])
  const value = useMemo(() => parseDate(day), [day])
  const type = (next: DateValue | null) => {
    const date = next?.toString() ?? ''
    setTyped(date === day ? null : next)
    if (isDay(date) && date >= '1970-01-01') onChange(date)
  }
  return (
    <div className="day-picker">
      <IconButton icon="back" label={t.before} onPress={() => onChange(stepDay(day, -1))} />
      <DateChoice aria-label={t.day} value={typed ?? value} onChange={type} onBlur={() => setTyped(null)} />
      <IconButton icon="next" label={t.after} onPress={() => onChange(stepDay(day, 1))} />
      <ActionButton looks="quiet" isDisabled={day === today} onPress={() => onChange(today)}>
        {t.today}
      </ActionButton>
    </div>
  )
}
