const DAY_MS = 86_400_000

/** The date some days later in the calendar. */
export const stepDay = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

/** A date with a four-digit year, which its next day has too. Browsers also parse the 30th of February. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  stepDay(text, 0) === text &&
  text >= '1970-01-01' &&
  text < '9999-12-31'
