import type { LivePosition } from '#client'

type ShownPosition = Pick<LivePosition, 'name' | 'lat' | 'lng' | 'timestamp' | 'speed' | 'heading' | 'state'>

const COMPASS = ['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW'] as const
const NAME_WIDTH = 14

/**
 * `14:02:31  bus-2214        30.368507   -97.710650   26.5 km/h   89° E   moving`; the device's time in the local time
 * zone.
 */
export function formatPosition(position: ShownPosition): string {
  const { lat, lng, speed, heading, timestamp, state } = position
  return [
    formatTime(timestamp),
    cleanName(position.name).padEnd(NAME_WIDTH),
    lat.toFixed(6).padStart(10),
    lng.toFixed(6).padStart(11),
    (speed === null ? '-' : `${(speed * 3.6).toFixed(1)} km/h`).padStart(10),
    (heading === null ? '-' : `${Math.round(heading) % 360}° ${compassPoint(heading)}`).padEnd(7),
    state,
  ].join('  ')
}

export const HEADER = [
  'time'.padEnd(8),
  'name'.padEnd(NAME_WIDTH),
  'lat'.padStart(10),
  'lng'.padStart(11),
  'speed'.padStart(10),
  'heading',
  'state',
].join('  ')

/** Users choose the names, and control characters would control the terminal. */
export function cleanName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}

function compassPoint(heading: number): string {
  return COMPASS[Math.round(heading / 45) % COMPASS.length] as string
}

/** The time of day, with the date if it is not today. */
function formatTime(timestamp: string): string {
  const date = new Date(timestamp)
  const time = date.toTimeString().slice(0, 8)
  if (date.toDateString() === new Date().toDateString()) return time
  const [month, day] = [date.getMonth() + 1, date.getDate()].map(part => String(part).padStart(2, '0'))
  return `${date.getFullYear()}-${month}-${day} ${time}`
}
