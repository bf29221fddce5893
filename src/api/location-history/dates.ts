const HOUR_MS = 3_600_000
/** The longest day that there has been, where the date line moved, has 48. */
const LONGEST_DAY_MS = 49 * HOUR_MS

/** On which date a time is in a time zone, and when the next date begins there; neighbours share their day. */
export function createDates(timeZone: string): (time: number) => { date: string; end: number } {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  let day = { date: '', begin: 0, end: 0 }

  /** The first millisecond of another date: clocks change, so it is looked for and not calculated. */
  function findEnd(time: number, date: string): number {
    let same = time
    let other = time + LONGEST_DAY_MS
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2)
      if (format.format(middle) === date) same = middle
      else other = middle
    }
    return other
  }

  return time => {
    if (time < day.begin || time >= day.end) {
      const date = format.format(time)
      day = { date, begin: time, end: findEnd(time, date) }
    }
    return day
  }
}
