import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'vitest'
import type { Point } from '../../stream/point.ts'

const FOLDER = resolve(import.meta.dirname, '../data/payloads')

interface Expected {
  ts: string
  lat: number
  lon: number
  speed_mps: number | null
  heading: number | null
  altitude_m: number | null
  accuracy_m: number | null
  battery_pct: number | null
}

/** A recorded message of an app: a body, or the query of an address. */
export interface Payload {
  file: string
  format: string
  bytes: Buffer
  expect: Expected[]
}

/** The recorded payloads of formats, with the positions in them. */
export function readPayloads(...formats: string[]): Payload[] {
  const manifest: Omit<Payload, 'bytes'>[] = JSON.parse(
    readFileSync(resolve(FOLDER, 'manifest.json'), 'utf8'),
  )
  return manifest
    .filter(({ format, file }) => formats.includes(format) && !file.endsWith('template.txt'))
    .map(({ file, format, expect: expected = [] }) => ({
      file,
      format,
      // An empty body is stored as a file with a line break in it.
      bytes: file.endsWith('.http') ? Buffer.alloc(0) : readFileSync(resolve(FOLDER, file)),
      expect: expected,
    }))
}

/** The query of a recorded address. */
export const queryOf = ({ bytes }: Payload) => bytes.toString('utf8').trim().replace(/^.*\?/, '')

/** Asserts that a point has the recorded values. */
export function expectPoint(
  point: Pick<Point, 'lat' | 'lng' | 'speed' | 'heading' | 'altitude' | 'accuracy' | 'battery'>,
  expected: Expected,
): void {
  const near = (value: number | null) => (value === null ? null : expect.closeTo(value, 2))
  expect(point).toMatchObject({
    lat: expected.lat,
    lng: expected.lon,
    speed: near(expected.speed_mps),
    heading: expected.heading,
    altitude: near(expected.altitude_m),
    accuracy: near(expected.accuracy_m),
    battery: near(expected.battery_pct),
  })
}
