import { type DateValue, parseDate } from '@internationalized/date'
import { useEffect, useMemo, useState } from 'react'
import { DateField, DateInput, DateSegment, Label } from 'react-aria-components'
import { useTexts } from '../texts/texts.tsx'
import { IconButton } from './parts.tsx'

/** A year that is being typed is the year 2 at first. */
const MIN_YEAR = 1_900

interface Props {
  label: string
  /** `2026-11-21`, or nothing. */
  day: string
  onChange: (day: string) => void
}

/** A day that may be left empty, typed in the format of the organization. */
export function DayField({ label, day, onChange }: Props) {
  const { map } = useTexts()
  /** The field's own value until its date is whole. */
  const [typed, setTyped] = useState<DateValue | null>(null)
  useEffect(() => setTyped(now => (now?.toString() === day ? null : now)), [day])
  // The same object for the same day, as a new one resets the field.
  const value = useMemo(() => (day ? parseDate(day) : null), [day])
  const type = (next: DateValue | null) => {
    setTyped(next)
    if (next === null) onChange('')
    else if (next.year >= MIN_YEAR) onChange(next.toString())
  }
  return (
    <DateField className="field compact day-field" value={typed ?? value} onChange={type}>
      <Label>{label}</Label>
      <div className="day-input">
        <DateInput>{segment => <DateSegment segment={segment} />}</DateInput>
        {day && <IconButton icon="close" label={`${map.clear}: ${label}`} onPress={() => onChange('')} />}
      </div>
    </DateField>
  )
}

/** The day of an address, if it is one. */
export const readDay = (text: string | null): string => {
  try {
    return text ? parseDate(text).toString() : ''
  } catch {
    return ''
  }
}
