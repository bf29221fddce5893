import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { PROJECT } from '../../db/folders.ts'
import type { Fix } from '../streets/track.ts'

const FOLDER = join(PROJECT, 'src/commands/traces')

/** The recordings; `traces/README.md` has their origin and licences. */
export const TRACES = {
  'capmetro-2015': {
    file: 'capmetro-2015-03-08.ndjson.gz',
    credit: 'Capital Metro, Austin, 8 March 2015, recorded by CapMetrics (MIT)',
  },
  liverpool: {
    file: 'liverpool-route14-2026-01-26.ndjson.gz',
    credit: 'route 14, Liverpool, 26 January 2026, from the Bus Open Data Service (OGL v3)',
  },
} as const

export type TraceName = keyof typeof TRACES

/** The fixes of each vehicle, in order of time. */
export function readTrace(name: TraceName): Map<string, Fix[]> {
  const vehicles = new Map<string, Fix[]>()
  const text = gunzipSync(readFileSync(join(FOLDER, TRACES[name].file))).toString('utf8')
  for (const line of text.split('\n')) {
    if (line === '') continue
    const { device, ts, lat, lon } = JSON.parse(line) as {
      device: string
      ts: string
      lat: number
      lon: number
    }
    const fix = { seconds: Date.parse(ts) / 1000, lat, lng: lon }
    const fixes = vehicles.get(device)
    if (fixes) fixes.push(fix)
    else vehicles.set(device, [fix])
  }
  for (const fixes of vehicles.values()) fixes.sort((a, b) => a.seconds - b.seconds)
  return vehicles
}
