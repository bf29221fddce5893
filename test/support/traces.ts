import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'

export interface TracePoint {
  device: string
  timestamp: number
  lat: number
  lng: number
  speed: number | null
  heading: number | null
}

const FOLDER = resolve(import.meta.dirname, '../../src/commands/traces')

/** A real trace, shifted so that its last point is an hour old: the recordings are older than the retention. */
export function readTrace(name: string): TracePoint[] {
  const text = gunzipSync(readFileSync(resolve(FOLDER, `${name}.ndjson.gz`))).toString('utf8')
  const rows = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const last = Math.max(...rows.map(row => Date.parse(row.ts)))
  const shift = Math.floor((Date.now() - 3_600_000 - last) / 1000) * 1000
  return rows.map(({ device, ts, lat, lon, speed, heading }) => ({
    device,
    timestamp: Date.parse(ts) + shift,
    lat,
    lng: lon,
    speed,
    heading,
  }))
}

export function shuffle<T>(items: readonly T[]): T[] {
  const shuffled = [...items]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    ;[shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T]
  }
  return shuffled
}
