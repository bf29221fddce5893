import { DAY_MS } from '../../calendar/days.ts'
import { findTimeZone } from '../../calendar/time-zones.ts'

/** Returns a function for the date of a time in a time zone and the end of that date; times of the last date are fast. */
export function createDates(timeZone: string): (time: number) => { date: string; end: number } {
  const zone = findTimeZone(timeZone)
  let day = { date: '', begin: 0, end: 0 }
  return time => {
    if (time < day.begin || time >= day.end) {
      const local = Math.floor(zone.toLocal(time) / DAY_MS) * DAY_MS
      const date = new Date(local).toISOString().slice(0, 10)
      day = { date, begin: time, end: zone.toInstant(local + DAY_MS) }
    }
    return day
  }
}
