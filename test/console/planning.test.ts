import { describe, expect, it } from 'vitest'
import { keyOf } from '../../console/pages/data/type-draft.ts'
import { complete, withPurpose } from '../../console/pages/imports/mapping.ts'
import { lanesOf, placeTasks, spanOf } from '../../console/pages/tasks/lanes.ts'
import { isOutsideHours, standingOf } from '../../console/pages/tasks/standing.ts'
import type { Task, Vehicle } from '../../console/pages/tasks/task.ts'

const at = (time: string) => `2026-03-10T${time}:00.000Z`
const task = (from: string, to: string | null, rest: Partial<Task> = {}) =>
  ({
    _id: from,
    status: 'assigned',
    startTime: at(from),
    endTime: to && at(to),
    assigneeId: null,
    vehicleId: null,
    ...rest,
  }) as Task
const van = (workingHours: Vehicle['workingHours'], driverId: string | null = null) =>
  ({ _id: 'van', name: 'Van', workingHours, driverId }) as Vehicle

describe('How a task stands to the clock', () => {
  const now = Date.parse(at('12:00'))
  it.each([
    ['planned', task('13:00', '14:00')],
    ['late', task('09:00', '11:00', { status: 'in_progress' })],
    ['risk', task('11:00', '14:00')],
    ['risk', task('12:10', '12:20')],
    ['running', task('11:00', '14:00', { status: 'on_the_way' })],
    ['done', task('09:00', '11:00', { status: 'completed' })],
    ['cancelled', task('09:00', '11:00', { status: 'cancelled' })],
    ['risk', task('11:00', null)],
  ])('is %s', (standing, one) => {
    expect(standingOf(one, undefined, now)).toBe(standing)
  })

  it('goes by the steps of the flow: the first is no beginning, and one that nothing follows is an end', () => {
    const step = (status: string, next: string[]) => ({ status, label: status, next, fields: [] })
    const flow = { steps: [step('open', ['signed']), step('signed', [])] } as never
    expect(standingOf(task('11:00', '14:00', { status: 'open' }), flow, now)).toBe('risk')
    expect(standingOf(task('09:00', '10:00', { status: 'signed' }), flow, now)).toBe('done')
  })

  it('is outside of the working hours of its vehicle, in the time zone of the organization', () => {
    const tuesday = van([{ weekday: 'tue', from: '08:00', to: '16:00' }])
    expect(isOutsideHours(task('09:00', '10:00'), tuesday, 'UTC')).toBe(false)
    expect(isOutsideHours(task('15:30', '16:30'), tuesday, 'UTC')).toBe(true)
    expect(isOutsideHours(task('09:00', '10:00'), tuesday, 'America/New_York')).toBe(true)
    expect(isOutsideHours(task('09:00', '10:00'), van([]), 'UTC')).toBe(false)
  })
})

describe('A timeline', () => {
  it('puts tasks that overlap on lines below each other, and the next one back on the first', () => {
    const { placed, lines } = placeTasks([
      task('09:00', '11:00'),
      task('10:00', '12:00'),
      task('11:00', '12:00'),
    ])
    expect(placed.map(({ line }) => line)).toEqual([0, 1, 0])
    expect(lines).toBe(2)
  })

  it('leaves each task room for its label, up to the next one of its line', () => {
    const tasks = [task('09:00', '09:10'), task('09:30', '09:40'), task('11:00', '11:10')]
    expect(placeTasks(tasks).lines).toBe(1)
    const { placed, lines } = placeTasks(tasks, 3_600_000)
    expect([lines, placed.map(({ line }) => line)]).toEqual([2, [0, 1, 0]])
    const minutes = placed.map(({ from, to, roomTo }) => [(to - from) / 60_000, (roomTo - from) / 60_000])
    expect(minutes).toEqual([
      [20, 120],
      [20, Number.POSITIVE_INFINITY],
      [20, Number.POSITIVE_INFINITY],
    ])
  })

  it('shows the usual hours, and those of its tasks', () => {
    const day = { from: Date.parse(at('00:00')), to: Date.parse(at('00:00')) + 86_400_000 }
    const hours = ({ from, to }: { from: number; to: number }) =>
      [from, to].map(ms => (ms - day.from) / 3_600_000)
    expect(hours(spanOf([], day, 0))).toEqual([7, 19])
    expect(hours(spanOf([task('05:30', '06:00'), task('22:00', '23:30')], day, 0))).toEqual([5, 24])
  })

  it('has the unassigned tasks first, then whoever has a task; of many people only those who drive or are in a team', () => {
    const person = (name: string) => ({
      _id: name,
      name,
      status: 'active' as const,
    })
    const namesOf = (names: string[]) =>
      lanesOf([task('09:00', '10:00', { assigneeId: 'Zoe' }), task('11:00', '12:00')], {
        people: names.map(person),
        vehicles: [van([], 'Ada')],
        memberIds: null,
        members: new Set(['Eve']),
        words: { unassigned: 'Unassigned', unknown: 'Unknown' },
      }).map(({ name, tasks }) => `${name} ${tasks.length}`)
    expect(namesOf(['Ada', 'Bob', 'Zoe'])).toEqual(['Unassigned 1', 'Zoe 1', 'Ada 0', 'Bob 0'])
    const many = Array.from({ length: 20 }, (_, index) => `Person ${index}`)
    expect(namesOf(['Ada', 'Eve', 'Zoe', ...many])).toEqual(['Unassigned 1', 'Zoe 1', 'Ada 0', 'Eve 0'])
  })
})

describe('A mapping', () => {
  it('gives a field one column, and a place one or several', () => {
    const first = withPurpose({ name: 'A' }, 'B', 'name')
    expect(first).toEqual({ name: 'B' })
    const half = withPurpose({ place: 'Where' }, 'lat', 'place#lat')
    expect(complete(half)).toEqual({})
    const whole = withPurpose(half, 'lon', 'place#lng')
    expect(complete(whole)).toEqual({ place: ['lat', 'lon'] })
    expect(withPurpose(whole, 'Where', 'place')).toEqual({ place: 'Where' })
    expect(withPurpose(first, 'B', '')).toEqual({})
  })
})

it('writes the key of a field from its label', () => {
  expect(keyOf('Phone number')).toBe('phoneNumber')
  expect(keyOf('Größe (m²)')).toBe('grosseM')
  expect(keyOf('2nd address')).toBe('ndAddress')
})
