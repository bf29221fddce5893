import { describe, expect, it } from 'vitest'
import type { Repeat } from '../../../db/schema/schedules.ts'
import { atOnce } from '../../../fair/scheduler.ts'
import { lookThrough, MAX_STEPS, type Timing } from '../../../src/resources/schedules/occurrences.ts'
import { InvalidRule } from '../../../src/resources/schedules/parse-rrule.ts'
import { listOccurrences } from '../../support/schedules.ts'

const timing = (repeat: Repeat, startTime: string, timezone: string, more: Partial<Timing> = {}): Timing => ({
  repeat,
  startTime: new Date(startTime),
  endTime: null,
  timezone,
  exceptions: [],
  ...more,
})

/** The first occurrences in local time. */
function wall(of: Timing, count: number): string[] {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: of.timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return listOccurrences(of, 0, count).map(instant => format.format(instant))
}
const instants = (of: Timing, count: number) =>
  listOccurrences(of, 0, count).map(instant => new Date(instant).toISOString().replace(':00.000Z', 'Z'))

const findOccurrence = (of: Timing, from: number) => listOccurrences(of, from, 1)[0] ?? null

/** Returns the number of occurrences up to an instant, and the first of the last `keep` of them. */
function countOccurrences(of: Timing, from: number, now: number, keep: number) {
  const { past, kept } = atOnce(lookThrough(of, { from, now, keep, futureCount: () => 0 }))
  return { total: past, firstKept: kept[0] ?? null }
}

const daily: Repeat = { frequency: 'daily', interval: 1 }
const monthly = (...byMonthDay: number[]): Repeat => ({
  frequency: 'monthly',
  interval: 1,
  ...(byMonthDay.length > 0 ? { byMonthDay } : {}),
})

describe('Occurrences of a simple repeat', () => {
  it.each([
    [
      '09:00 stays 09:00 across both changes',
      'Europe/Berlin',
      '2026-03-28T08:00Z',
      ['2026-03-28T08:00Z', '2026-03-29T07:00Z'],
    ],
    ['and back', 'Europe/Berlin', '2026-10-24T07:00Z', ['2026-10-24T07:00Z', '2026-10-25T08:00Z']],
    [
      '02:30 that is skipped is 03:30',
      'Europe/Berlin',
      '2026-03-28T01:30Z',
      ['2026-03-28T01:30Z', '2026-03-29T01:30Z', '2026-03-30T00:30Z'],
    ],
    [
      '02:30 that comes twice is the first',
      'Europe/Berlin',
      '2026-10-24T00:30Z',
      ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z'],
    ],
    [
      '02:30 that is skipped is 03:30',
      'America/New_York',
      '2026-03-07T07:30Z',
      ['2026-03-07T07:30Z', '2026-03-08T07:30Z', '2026-03-09T06:30Z'],
    ],
    [
      '01:30 that comes twice is the first',
      'America/New_York',
      '2026-10-31T05:30Z',
      ['2026-10-31T05:30Z', '2026-11-01T05:30Z', '2026-11-02T06:30Z'],
    ],
    // The change is half an hour: from 02:00 to 02:30 on the first Sunday of October, from 02:00 back to 01:30 in
    // April.
    [
      '02:10 that is skipped is 02:40',
      'Australia/Lord_Howe',
      '2026-10-02T15:40Z',
      ['2026-10-02T15:40Z', '2026-10-03T15:40Z', '2026-10-04T15:10Z'],
    ],
    [
      '01:45 that comes twice is the first',
      'Australia/Lord_Howe',
      '2026-04-03T14:45Z',
      ['2026-04-03T14:45Z', '2026-04-04T14:45Z', '2026-04-05T15:15Z'],
    ],
    [
      'no change at all',
      'Asia/Ho_Chi_Minh',
      '2026-03-28T19:30Z',
      ['2026-03-28T19:30Z', '2026-03-29T19:30Z', '2026-03-30T19:30Z'],
    ],
    [
      'a day that was skipped as a whole',
      'Pacific/Apia',
      '2011-12-29T19:00Z',
      ['2011-12-29T19:00Z', '2011-12-30T19:00Z', '2011-12-31T19:00Z'],
    ],
    [
      'midnight that is skipped is 01:00',
      'America/Havana',
      '2026-03-07T05:00Z',
      ['2026-03-07T05:00Z', '2026-03-08T05:00Z', '2026-03-09T04:00Z'],
    ],
  ])('%s (%s)', (_, zone, start, expected) => {
    expect(instants(timing(daily, start, zone), expected.length)).toEqual(expected)
  })

  it('begins at the start also where that is the second of two 02:30', () => {
    expect(instants(timing(daily, '2026-10-25T01:30Z', 'Europe/Berlin'), 2)).toEqual([
      '2026-10-25T01:30Z',
      '2026-10-26T01:30Z',
    ])
  })

  it.each([
    [
      'the 31st is the last of a shorter month',
      monthly(),
      '2026-01-31T09:00Z',
      ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30'],
    ],
    ['-1 is the last', monthly(-1), '2028-01-15T09:00Z', ['2028-01-31', '2028-02-29', '2028-03-31']],
    [
      'one day of three that are the last',
      monthly(30, 31, -1),
      '2026-02-01T09:00Z',
      ['2026-02-28', '2026-03-30', '2026-03-31', '2026-04-30'],
    ],
    [
      '29 February is the 28th in other years',
      { frequency: 'yearly', interval: 1 } as Repeat,
      '2024-02-29T09:00Z',
      ['2024-02-29', '2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29'],
    ],
    [
      'every second week counts from the Monday',
      { frequency: 'weekly', interval: 2, byWeekday: ['sun', 'mon'] } as Repeat,
      '2026-11-18T09:00Z',
      ['2026-11-22', '2026-11-30', '2026-12-06', '2026-12-14'],
    ],
    [
      'on working days',
      { frequency: 'daily', interval: 1, byWeekday: ['mon', 'tue', 'wed', 'thu', 'fri'] } as Repeat,
      '2026-11-19T09:00Z',
      ['2026-11-19', '2026-11-20', '2026-11-23'],
    ],
    [
      'every third month',
      { frequency: 'monthly', interval: 3, byMonthDay: [15] } as Repeat,
      '2026-11-20T09:00Z',
      ['2027-02-15', '2027-05-15'],
    ],
  ])('%s', (_, repeat, start, expected) => {
    const found = wall(timing(repeat, start, 'UTC'), expected.length)
    expect(found).toEqual(expected.map(day => `${day} 09:00`))
  })

  it('ends with its end, and has none where that is before its start', () => {
    const ending = (endTime: string) => ({ endTime: new Date(endTime) })
    const start = '2026-11-20T09:00Z'
    expect(instants(timing(daily, start, 'UTC', ending('2026-11-21T09:00Z')), 9)).toHaveLength(2)
    expect(instants(timing(daily, start, 'UTC', ending('2026-11-21T08:59Z')), 9)).toHaveLength(1)
    expect(instants(timing(daily, start, 'UTC', ending('2026-11-19T09:00Z')), 9)).toEqual([])
  })

  it('leaves out exceptions: days of its time zone, and single occurrences', () => {
    const exceptions = ['2026-11-21', '2026-11-22T17:00:00.000Z']
    // 02:00 in Hanoi is 19:00 of the day before in UTC.
    expect(wall(timing(daily, '2026-11-19T19:00Z', 'Asia/Ho_Chi_Minh', { exceptions }), 3)).toEqual([
      '2026-11-20 02:00',
      '2026-11-22 02:00',
      '2026-11-23 02:00',
    ])
    expect(wall(timing(daily, '2026-11-21T17:00Z', 'Asia/Ho_Chi_Minh', { exceptions }), 2)).toEqual([
      '2026-11-22 00:00',
      '2026-11-24 00:00',
    ])
  })
})

describe('Occurrences of an RRULE', () => {
  const rrule = (text: string, start: string, zone = 'UTC', more: Partial<Timing> = {}) =>
    timing({ rrule: text }, start, zone, more)

  it('leaves out times that the clocks skip and days that a month does not have', () => {
    expect(wall(rrule('FREQ=DAILY', '2026-03-28T01:30Z', 'Europe/Berlin'), 2)).toEqual([
      '2026-03-28 02:30',
      '2026-03-30 02:30',
    ])
    expect(wall(rrule('FREQ=MONTHLY', '2026-01-31T09:00Z'), 3)).toEqual([
      '2026-01-31 09:00',
      '2026-03-31 09:00',
      '2026-05-31 09:00',
    ])
    expect(wall(rrule('FREQ=YEARLY', '2024-02-29T09:00Z'), 2)).toEqual([
      '2024-02-29 09:00',
      '2028-02-29 09:00',
    ])
    // They do not count either.
    expect(wall(rrule('FREQ=DAILY;COUNT=2', '2026-03-28T01:30Z', 'Europe/Berlin'), 9)).toHaveLength(2)
    expect(instants(rrule('FREQ=DAILY;COUNT=2', '2026-10-24T00:30Z', 'Europe/Berlin'), 9)).toEqual([
      '2026-10-24T00:30Z',
      '2026-10-25T00:30Z',
    ])
  })

  // RFC 5545, section 3.8.5.3.
  const NEW_YORK = 'America/New_York'
  const NINE = '1997-09-02T13:00Z'.replace('1997', '2008')
  it.each([
    ['FREQ=DAILY;COUNT=3', ['2008-09-02', '2008-09-03', '2008-09-04']],
    ['FREQ=DAILY;UNTIL=20080904T130000Z', ['2008-09-02', '2008-09-03', '2008-09-04']],
    ['FREQ=DAILY;UNTIL=20080904', ['2008-09-02', '2008-09-03', '2008-09-04']],
    ['FREQ=DAILY;UNTIL=20080904T085959', ['2008-09-02', '2008-09-03']],
    [
      'FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,SU;COUNT=4',
      ['2008-09-02', '2008-09-14', '2008-09-16', '2008-09-28'],
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=TU,SU;COUNT=4',
      ['2008-09-02', '2008-09-07', '2008-09-16', '2008-09-21'],
    ],
    ['FREQ=MONTHLY;BYDAY=1FR,-1MO;COUNT=4', ['2008-09-05', '2008-09-29', '2008-10-03', '2008-10-27']],
    ['FREQ=MONTHLY;BYMONTHDAY=-3;COUNT=3', ['2008-09-28', '2008-10-29', '2008-11-28']],
    ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=2', ['2009-02-13', '2009-03-13']],
    ['FREQ=YEARLY;BYDAY=20MO;COUNT=2', ['2009-05-18', '2010-05-17']],
    ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=2', ['2009-05-11', '2010-05-17']],
    ['FREQ=YEARLY;BYWEEKNO=20;COUNT=2', ['2009-05-12', '2010-05-18']],
    ['FREQ=YEARLY;BYYEARDAY=1,100,-1;COUNT=4', ['2008-12-31', '2009-01-01', '2009-04-10', '2009-12-31']],
    [
      'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8;COUNT=2',
      ['2008-11-04', '2012-11-06'],
    ],
    ['FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3;COUNT=2', ['2008-09-04', '2008-10-07']],
    ['FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2;COUNT=2', ['2008-09-29', '2008-10-30']],
    ['FREQ=YEARLY;BYYEARDAY=366;BYDAY=TH', ['2020-12-31', '2048-12-31']],
    ['rrule:freq=daily;count=1;', ['2008-09-02']],
  ])('%s', (text, expected) => {
    const found = wall(rrule(text, NINE, NEW_YORK), expected.length)
    expect(found).toEqual(expected.map(day => `${day} 09:00`))
  })

  it('knows hours and minutes', () => {
    const times = (text: string, start: string, zone: string) =>
      wall(rrule(text, start, zone), 5).map(time => time.slice(11))
    expect(times('FREQ=HOURLY;INTERVAL=3', '2026-11-20T09:30Z', 'UTC')).toEqual([
      '09:30',
      '12:30',
      '15:30',
      '18:30',
      '21:30',
    ])
    expect(times('FREQ=MINUTELY;INTERVAL=20;BYHOUR=9', '2026-11-20T09:30Z', 'UTC')).toEqual([
      '09:30',
      '09:50',
      '09:10',
      '09:30',
      '09:50',
    ])
    expect(times('FREQ=DAILY;BYHOUR=8,14;BYMINUTE=0,15', '2026-11-20T09:30Z', 'UTC')).toEqual([
      '14:00',
      '14:15',
      '08:00',
      '08:15',
      '14:00',
    ])
    expect(times('FREQ=HOURLY', '2026-03-29T00:00Z', 'Europe/Berlin')).toEqual([
      '01:00',
      '03:00',
      '04:00',
      '05:00',
      '06:00',
    ])
    expect(times('FREQ=HOURLY', '2026-10-24T23:00Z', 'Europe/Berlin')).toEqual([
      '01:00',
      '02:00',
      '03:00',
      '04:00',
      '05:00',
    ])
  })

  it.each([
    '',
    'x',
    'FREQ=SECONDLY',
    'FREQ=DAILY;COUNT=1e9',
    'FREQ=DAILY;COUNT=0',
    'FREQ=DAILY;INTERVAL=0',
    'FREQ=DAILY;INTERVAL=99999999999999999999',
    'FREQ=DAILY;FREQ=DAILY',
    'FREQ=DAILY;COUNT=2;UNTIL=20270101',
    'FREQ=DAILY;UNTIL=20270230',
    'FREQ=DAILY;UNTIL=20270101T250000Z',
    'FREQ=DAILY;UNTIL=tomorrow',
    'FREQ=DAILY;BYSECOND=0,1',
    'FREQ=DAILY;BYHOUR=24',
    'FREQ=DAILY;BYMINUTE=-1',
    'FREQ=DAILY;BYMONTH=13',
    'FREQ=DAILY;BYMONTHDAY=0',
    'FREQ=DAILY;BYDAY=1MO',
    'FREQ=WEEKLY;BYMONTHDAY=1',
    'FREQ=MONTHLY;BYYEARDAY=1',
    'FREQ=MONTHLY;BYWEEKNO=1',
    'FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO',
    'FREQ=MONTHLY;BYDAY=XX',
    'FREQ=MONTHLY;BYDAY=',
    'FREQ=MONTHLY;BYSETPOS=1',
    'FREQ=HOURLY;BYMINUTE=1,2;BYSETPOS=1',
    'FREQ=DAILY;RSCALE=CHINESE',
    'FREQ=DAILY;COUNT=2=3',
    'FREQ=DAILY\nEXDATE:20270101T090000Z',
    'DTSTART:20270101T090000Z',
    'FREQ=DAILY;__proto__=1',
  ])('refuses %j in a sentence', text => {
    const read = () => findOccurrence(rrule(text, '2026-11-20T09:00Z'), 0)
    expect(read).toThrow(InvalidRule)
    expect(read).toThrow(/^[A-Z].*\.$/)
  })

  const upTo = (last: number, from = 0) => Array.from({ length: last - from + 1 }, (_, n) => n + from).join()
  const everyMinute = `BYHOUR=${upTo(23)};BYMINUTE=${upTo(59)}`
  const odd = Array.from({ length: 30 }, (_, n) => 2 * n + 1).join()
  it.each([
    ['30 February', 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 0],
    ['every minute of 30 February', 'FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30', 0],
    ['an interval of two thousand years', 'FREQ=MINUTELY;INTERVAL=999999999', 1],
    ['an interval of two years in minutes', 'FREQ=MINUTELY;INTERVAL=999999', 53],
    ['even minutes that are odd', `FREQ=MINUTELY;INTERVAL=2;BYMINUTE=${odd}`, 0],
    ['an interval that meets its minute seldom', 'FREQ=MINUTELY;INTERVAL=1439;BYHOUR=3;BYMINUTE=7', 25],
    [
      'the last of all minutes of a year',
      `FREQ=YEARLY;BYYEARDAY=${upTo(366, 1)};${everyMinute};BYSETPOS=-366`,
      100,
    ],
    ['day 366 in March', `FREQ=YEARLY;BYWEEKNO=${upTo(53, 1)};BYYEARDAY=366;BYDAY=MO,TU;BYMONTH=3`, 0],
    ['a count beyond the end of time', 'FREQ=DAILY;COUNT=999999999', 36_525],
    ['every minute of a century', 'FREQ=MINUTELY;COUNT=999999999', 52_596_000],
    [
      'every position of every day',
      `FREQ=DAILY;${everyMinute};BYSETPOS=${upTo(366, 1)},-${upTo(366, 1).replaceAll(',', ',-')}`,
      26_736_300,
    ],
    ['a billion years', 'FREQ=YEARLY;INTERVAL=999999999', 1],
    ['a billion months', 'FREQ=MONTHLY;INTERVAL=999999999', 1],
    ['a billion weeks', 'FREQ=WEEKLY;INTERVAL=999999999', 1],
    ['one day named a thousand times', `FREQ=MONTHLY;BYDAY=${'MO,'.repeat(1200)}MO`, 5218],
  ])('looks through a hundred years within its budget: %s', (_, text, total) => {
    const budget = { stepsLeft: MAX_STEPS }
    const century = { from: 0, now: Date.UTC(2200, 0, 1), keep: 1_000, futureCount: () => 0, budget }
    expect(atOnce(lookThrough(rrule(text, '2000-01-01T00:00Z'), century)).past).toBe(total)
    expect(budget.stepsLeft).toBeGreaterThan(0)
  })

  it('is refused in a sentence where the budget does not suffice', () => {
    const exceptions = Array.from({ length: 500 }, (_, n) => new Date(Date.UTC(2000, 0, 2 + n)).toISOString())
    const everyMinuteBut = timing({ rrule: 'FREQ=MINUTELY' }, '2000-01-01T00:00Z', 'UTC', { exceptions })
    const century = { from: 0, now: Date.UTC(2200, 0, 1), futureCount: () => 0 }
    const look = (stepsLeft: number) =>
      atOnce(lookThrough(everyMinuteBut, { ...century, budget: { stepsLeft } }))
    expect(() => look(MAX_STEPS)).toThrow(InvalidRule)
    expect(() => look(MAX_STEPS)).toThrow(/^This takes too long .*\.$/)
    expect(look(Number.POSITIVE_INFINITY).past).toBe(52_596_000 - 500)
  })
})

describe('Counting occurrences', () => {
  const since = timing({ rrule: 'FREQ=HOURLY' }, '2026-01-01T00:00Z', 'America/New_York')
  const now = Date.parse('2026-11-20T12:34Z')

  it('tells how many there were, and which is the first of the last thousand', () => {
    const all = listOccurrences({ ...since, endTime: new Date(now) }, 0)
    expect(countOccurrences(since, 0, now, 1000)).toEqual({ total: all.length, firstKept: all.at(-1000) })
    expect(countOccurrences(since, 0, now, 100_000)).toEqual({ total: all.length, firstKept: all[0] })
    const exceptions = ['2026-03-03', new Date(all[2000] as number).toISOString()]
    const rest = listOccurrences({ ...since, exceptions, endTime: new Date(now) }, 0)
    expect(rest).toHaveLength(all.length - 25)
    expect(countOccurrences({ ...since, exceptions }, 0, now, 1000).total).toBe(rest.length)
  })

  it('counts from where it is asked to', () => {
    const all = listOccurrences({ ...since, endTime: new Date(now) }, 0)
    for (const index of [1, 24, 1000, all.length - 1]) {
      expect(countOccurrences(since, all[index] as number, now, 1000).total).toBe(all.length - index)
      expect(findOccurrence(since, all[index] as number)).toBe(all[index])
      expect(findOccurrence(since, (all[index] as number) + 1)).toBe(
        all[index + 1] ?? (all[index] as number) + 3_600_000,
      )
    }
    expect(countOccurrences(since, now, now - 1, 1000)).toEqual({ total: 0, firstKept: null })
  })
})
