import { describe, expect, test } from 'vitest'
import { cleanName, formatPosition } from '../../src/commands/position-line.ts'

const now = new Date()
now.setHours(14, 2, 31)
const position = {
  name: 'bus-2214',
  lat: 30.368507,
  lng: -97.71065,
  timestamp: now.toISOString(),
  speed: 7.37,
  heading: 88.6,
  state: 'moving' as const,
}

describe('a line of watch', () => {
  test('has time, name, place, km/h, heading and state', () => {
    expect(formatPosition(position)).toBe(
      '14:02:31  bus-2214         30.368507   -97.710650   26.5 km/h  89° E    moving',
    )
  })

  test('has a dash for what the device does not know', () => {
    const line = formatPosition({ ...position, speed: null, heading: null, state: 'idle' })
    expect(line.split(/\s{2,}/)).toEqual([
      '14:02:31',
      'bus-2214',
      '30.368507',
      '-97.710650',
      '-',
      '-',
      'idle',
    ])
  })

  test('has the day where that is not today', () => {
    const line = formatPosition({ ...position, timestamp: '2020-06-15T12:00:00.000Z' })
    expect(line).toMatch(/^2020-06-1[56] \d\d:\d\d:00 /)
  })

  test('goes once round the compass', () => {
    const points = [0, 45, 90, 135, 180, 225, 270, 315, 359.7].map(
      heading => /° (\w+)/.exec(formatPosition({ ...position, heading }))?.[1],
    )
    expect(points).toEqual(['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW', 'N'])
    expect(formatPosition({ ...position, heading: 359.7 })).toContain(' 0° N')
  })

  test('lets no name steer the terminal', () => {
    expect(cleanName('\u001b[2Jvan\r\n\u202e 12 – Zürich')).toBe('?[2Jvan??? 12 – Zürich')
  })
})
