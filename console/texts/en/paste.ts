const schedules = (count: number, text: string) => (count === 1 ? '1 schedule' : `${text} schedules`)

/** The texts of the dialog that creates schedules from a pasted table, loaded with it. */
export const pasteTexts = {
  title: 'Schedules from a table',
  lead: (zone: string) =>
    `Copy the rows in your spreadsheet and paste them here. Times without a time zone are in ${zone}.`,
  paste: 'Pasted rows',
  placeholder: 'Paste here (Ctrl+V)',
  headings: 'The first row may name the columns, in any order. Without names, they are:',
  copyHeadings: 'Copy the headings',
  columns: {
    name: 'Name',
    repeats: 'Repeats',
    interval: 'Interval',
    days: 'Days',
    start: 'Start',
    until: 'Until',
    timezone: 'Time zone',
    minutes: 'Minutes',
    assignee: 'Assignee',
    vehicle: 'Vehicle',
    team: 'Team',
    hub: 'Hub',
  },
  cell: (column: string, row: number) => `${column}, row ${row}`,
  remove: (row: number) => `Remove row ${row}`,
  count: (count: number, text: string) => `${count === 1 ? '1 row' : `${text} rows`}.`,
  wrong: (count: number, text: string) =>
    count === 1 ? '1 has to be mended first.' : `${text} have to be mended first.`,
  past: (count: number, text: string) =>
    count === 1
      ? '1 begins in the past: its past tasks are created too.'
      : `${text} begin in the past: their past tasks are created too.`,
  unknownColumns: (names: string) => `Left out, because no column has this name: ${names}.`,
  tooMany: (text: string) => `Only the first ${text} rows were taken. Paste the others afterwards.`,
  create: (count: number, text: string) => `Create ${schedules(count, text)}`,
  created: (count: number, text: string) =>
    `${schedules(count, text)} ${count === 1 ? 'was' : 'were'} created.`,
  startOver: 'Start over',
  problems: {
    required: 'Needed.',
    long: 'At most 100 characters.',
    repeats: 'Daily, weekly, monthly, yearly, or a rule with FREQ=.',
    interval: 'A whole number from 1 to 999.',
    weekdays: 'Days of the week, such as Mon, Thu.',
    monthDays: 'Days of the month from 1 to 31, or last.',
    time: 'Write it as 2026-12-01 09:00.',
    before: 'Before the start.',
    zone: 'No such time zone. Write it as Europe/Berlin.',
    minutes: 'A number of minutes.',
    unknown: 'Nothing has this name.',
    several: 'More than one has this name.',
  },
}
