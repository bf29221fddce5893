import '../styles/dates.css'
import type { DateValue } from '@internationalized/date'
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
  type DatePickerProps,
  DateSegment,
  Dialog,
  Group,
  Heading,
  Label,
  Popover,
} from 'react-aria-components'
import { Icon } from './icon.tsx'
import { FieldErrorText } from './parts.tsx'

/** A date, or a date with its time, in the format of the organization. The browser's own field has the browser's language. */
export function DateChoice({
  label,
  ...rest
}: DatePickerProps<DateValue> & {
  /** A visible label; without it, `aria-label` names the field. */
  label?: string
}) {
  return (
    <DatePicker {...rest} className={label === undefined ? '' : 'field'} shouldForceLeadingZeros>
      {label !== undefined && <Label>{label}</Label>}
      <Group className="date-field">
        <DateInput className="date-input">
          {segment => <DateSegment segment={segment} className="date-segment" />}
        </DateInput>
        <Button className="button quiet square">
          <Icon name="calendar" />
        </Button>
      </Group>
      {label !== undefined && <FieldErrorText />}
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
  )
}
