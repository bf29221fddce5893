export const FREQUENCIES = ['daily', 'weekly', 'monthly', 'yearly'] as const
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Every so many days, weeks, months or years. */
export interface SimpleRepeat {
  frequency: (typeof FREQUENCIES)[number]
  interval: number
  byWeekday?: (typeof WEEKDAYS)[number][]
  /** -1 is the last day of the month. */
  byMonthDay?: number[]
}

/** How a schedule repeats: simply, or by an RRULE of RFC 5545. */
export type Repeat = SimpleRepeat | { rrule: string }
