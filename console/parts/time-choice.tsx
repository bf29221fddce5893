import { type DateValue, fromAbsolute, toCalendarDateTime, toZoned } from '@internationalized/date'
import { useMemo } from 'react'
import { useWorkspace } from '../api/workspace.ts'
import { DateChoice } from './date-picker.tsx'

/** A date with its time in a time zone, by default the organization's. The value is an instant, or empty. */
export function TimeChoice(props: {
  label: string
  name: string
  value: string
  onChange: (instant: string) => void
  isRequired?: boolean
  timeZone?: string
}) {
  const workspace = useWorkspace()
  const { value, onChange, timeZone = workspace.timeZone, ...rest } = props
  // The same object for the same instant, as a new one resets the field.
  const shown = useMemo(
    () => (value === '' ? null : toCalendarDateTime(fromAbsolute(Date.parse(value), timeZone))),
    [value, timeZone],
  )
  const write = (next: DateValue | null) =>
    onChange(next === null ? '' : toZoned(toCalendarDateTime(next), timeZone).toDate().toISOString())
  return <DateChoice {...rest} value={shown} onChange={write} granularity="minute" />
}
