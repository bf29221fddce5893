const UNITS = { daily: 'day', weekly: 'week', monthly: 'month', yearly: 'year' }
type Unit = keyof typeof UNITS

/** The texts of the page of schedules, which are loaded with it. */
export const scheduleTexts = {
  title: 'Schedules',
  lead: 'Tasks that come again and again.',
  create: 'New schedule',
  fromTable: 'From a table',
  none: 'No schedules yet',
  noneHint: 'A schedule creates a task at each of its times.',
  name: 'Name of its tasks',
  repeats: 'Repeats',
  next: 'Next task',
  trouble: 'The next task could not be created:',
  deleteAsk: (name: string) => `Delete ${name}? The tasks that it created stay.`,
  every: 'Every',
  interval: 'Interval',
  unit: 'Unit',
  units: (unit: Unit, count: number) => UNITS[unit] + (count === 1 ? '' : 's'),
  on: 'on',
  weekdays: 'Weekdays',
  monthDays: 'Days of the month',
  lastDay: 'last',
  from: 'From',
  until: 'Until',
  zone: 'Time zone',
  lasts: 'Minutes for each task',
  flow: 'Flow',
  usualFlow: 'The usual flow',
  rule: 'Rule (RFC 5545)',
  sentence: (parts: { every: string; on: string; at: string; zone: string; until: string }) =>
    `Every ${parts.every}${parts.on && ` on ${parts.on}`} at ${parts.at}, ${parts.zone}${parts.until && `, until ${parts.until}`}`,
  everyUnit: (unit: Unit, count: number) =>
    count === 1 ? UNITS[unit] : count === 2 ? `second ${UNITS[unit]}` : `${count} ${UNITS[unit]}s`,
  day: (day: number) => (day === -1 ? 'the last day' : `day ${day}`),
  preview: 'The next ten times',
  noneLeft: 'No times are left.',
  clockChange: 'the clocks change before it',
  past: (count: string) => `${count} times have passed already: their tasks are created too.`,
  assignee: 'Assignee',
  vehicle: 'Vehicle',
  team: 'Team',
  place: 'Place',
  records: 'Data records',
}

export type ScheduleTexts = typeof scheduleTexts
