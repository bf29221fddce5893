import type { Choices } from '../db/schema/tracker-profiles.ts'
import { compileProfile } from '../ingest/profiles/own/compile.ts'
import { MAX_STEPS } from '../ingest/profiles/own/context.ts'
import { message, searchCostly, source } from '../test/support/costly-profiles.ts'

/**
 * The cost of reading a message by a profile: a usual one of 4 KB, and the most expensive ones that a search finds. Run
 * with `npx tsx bench/profiles.ts`. Times are processor times.
 */

/** Microseconds of the processor for one run. */
function measure(work: () => unknown, runs: number): number {
  for (let index = 0; index < Math.min(runs, 2_000); index++) work()
  const before = process.cpuUsage()
  for (let index = 0; index < runs; index++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / runs
}

function measureUsual(): void {
  const payload: { [name: string]: unknown } = {
    imei: '352093081452251',
    gps: { lat: '52.5200', lon: '13.4050', speed: 54, course: 271, alt: 34, fix: true },
    time: 1795164850,
    io: Array.from({ length: 20 }, (_, id) => ({ id, value: id * 7 })),
  }
  for (let index = 0; JSON.stringify(payload).length < 4_096; index++)
    payload[`sensor_${index}`] = index * 1.5
  const choices: Choices = {
    topic: '#',
    each: null,
    when: [{ from: '$.payload.gps.fix', is: 'equals', value: true }],
    device: source('$.payload.imei'),
    fields: {
      lat: source('$.payload.gps.lat'),
      lng: source('$.payload.gps.lon'),
      timestamp: { ...source('$.payload.time'), unit: 's' },
      speed: { ...source('$.payload.gps.speed'), unit: 'km/h' },
      heading: source('$.payload.gps.course'),
      altitude: source('$.payload.gps.alt'),
      accuracy: null,
      battery: source('$.payload.io[?@.id==13].value'),
    },
    attributes: { ignition: source('$.payload.io[?@.id==19].value') },
  }
  const reader = compileProfile(choices)
  const given = message(payload)
  const whole = measure(() => reader.read(given, 0), 20_000)
  const parsing = measure(() => JSON.parse(Buffer.from(given.payload).toString('utf8')), 20_000)
  console.log(
    `A message of ${given.payload.length} bytes: ${whole.toFixed(1)} µs, ${parsing.toFixed(1)} of them for its JSON`,
  )
}

measureUsual()
const found = searchCostly(Number(process.argv[2] ?? 400))
console.log(`The most expensive of ${found.length} profiles, each with at most ${MAX_STEPS} steps:`)
for (const { micros, parsingMicros, reader, payload } of found.slice(0, 10)) {
  const { unreadable } = reader.read(message(payload), 0)
  const [ms, parsingMs] = [micros, parsingMicros].map(one => (one / 1000).toFixed(1))
  console.log(
    `${ms} ms, ${parsingMs} of them for its JSON, ${payload.slice(0, 30)}…: ${unreadable?.message ?? 'read'}`,
  )
}
