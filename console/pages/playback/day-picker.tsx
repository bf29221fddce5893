import { type DateValue, parseDate } from '@internationalized/date'
import { useEffect, useMemo, useState } from 'react'
import { serverNow } from '../../clock.ts'
import { DateChoice } from '../../parts/date-picker.tsx'
import { stepDay } from '../../parts/days.ts'
import { IconButton } from '../../parts/parts.tsx'
import { useFormat } from '../../texts/texts.tsx'
import { usePlaybackTexts } from './texts.ts'

/** The history is kept for a year. */
const KEPT_DAYS = 365

/** The day, in the calendar and format of the organization. The browser's own date field has the browser's language. */
export function DayPicker({ day, onChange }: { day: string; onChange: (day: string | null) => void }) {
  const t = usePlaybackTexts()
  const format = useFormat()
  /** The field's own value until its date is opened: while a year is typed, it is the year 2 at first. */
  const [typed, setTyped] = useState<DateValue | null>(null)
  const today = format.dateOf(serverNow())
  const earliest = stepDay(today, -KEPT_DAYS)
  const go = (next: string) => onChange(next === today ? null : next)
  const type = (next: DateValue | null) => {
    const date = next?.toString() ?? ''
    setTyped(date === day ? null : next)
    if (date >= earliest && date <= today) go(date)
  }
  useEffect(() => setTyped(now => (now?.toString() === day ? null : now)), [day])
  // The same object for the same day, as a new one resets the field.
  const value = useMemo(() => parseDate(day), [day])
  return (
    <div className="day-picker">
      <IconButton
        icon="back"
        label={t.before}
        isDisabled={day <= earliest}
        onPress={() => go(stepDay(day, -1))}
      />
      <DateChoice
        aria-label={t.day}
        value={typed ?? value}
        onChange={type}
        onBlur={() => setTyped(null)}
        minValue={parseDate(earliest)}
        maxValue={parseDate(today)}
      />
      <IconButton icon="next" label={t.after} isDisabled={day >= today} onPress={() => go(stepDay(day, 1))} />
    </div>
  )
}
