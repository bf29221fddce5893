import { type DateValue, parseDate } from '@internationalized/date'
import { useEffect, useMemo, useState } from 'react'
import {
  Button,
  Calendar,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  DateInput,
  DatePicker,
  DateSegment,
  Dialog,
  Group,
  Heading,
  Popover,
} from 'react-aria-components'
import { serverNow } from '../../clock.ts'
import { Icon } from '../../parts/icon.tsx'
import { IconButton } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { stepDay } from './address.ts'

/** The history goes back a year. */
const KEPT_DAYS = 365

/** One day after the other, as the calendar of the organization has them and writes them: a browser's own field has its own language. */
export function DayPicker({ day, onChange }: { day: string; onChange: (day: string | null) => void }) {
  const { playback: t } = useTexts()
  const format = useFormat()
  /** Of the field itself until it is gone to: another key may come first, and on its way there a year is the year 2. */
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
  // The field begins anew with every other object, even of the same day.
  const value = useMemo(() => parseDate(day), [day])
  return (
    <div className="day-picker">
      <IconButton
        icon="back"
        label={t.before}
        isDisabled={day <= earliest}
        onPress={() => go(stepDay(day, -1))}
      />
      <DatePicker
        aria-label={t.day}
        value={typed ?? value}
        onChange={type}
        onBlur={() => setTyped(null)}
        minValue={parseDate(earliest)}
        maxValue={parseDate(today)}
        shouldForceLeadingZeros
      >
        <Group className="date-field">
          <DateInput className="date-input">
            {segment => <DateSegment segment={segment} className="date-segment" />}
          </DateInput>
          <Button className="button quiet square">
            <Icon name="calendar" />
          </Button>
        </Group>
        <Popover className="popover">
          <Dialog className="calendar">
            <Calendar>
              <header>
                <Button slot="previous" className="button quiet square">
                  <Icon name="back" />
                </Button>
                <Heading />
                <Button slot="next" className="button quiet square">
                  <Icon name="next" />
                </Button>
              </header>
              <CalendarGrid>
                <CalendarGridHeader>
                  {name => <CalendarHeaderCell>{name}</CalendarHeaderCell>}
                </CalendarGridHeader>
                <CalendarGridBody>
                  {date => <CalendarCell date={date} className="calendar-day" />}
                </CalendarGridBody>
              </CalendarGrid>
            </Calendar>
          </Dialog>
        </Popover>
      </DatePicker>
      <IconButton icon="next" label={t.after} isDisabled={day >= today} onPress={() => go(stepDay(day, 1))} />
    </div>
  )
}
