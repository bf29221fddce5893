import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/interface.d.ts'

type Schemas = components['schemas']
export type History = Schemas['HealthHistory']
export type Sample = Schemas['HealthSample']
export type Verdict = Schemas['HealthVerdict']
export type Period = History['period']

export const PERIODS: readonly Period[] = ['day', 'month', 'year']
/** A sample of a minute is written once a minute. */
export const READ_EVERY_MS = 60_000

const DAY_MS = 86_400_000
const LENGTH_MS: Record<Period, number> = { day: DAY_MS, month: 31 * DAY_MS, year: 366 * DAY_MS }
export const lengthOf = (period: Period): number => LENGTH_MS[period]

export const readHistory = async (period: Period, signal: AbortSignal): Promise<History> =>
  (await answered(api.GET('/api/v3/health-history', { params: { query: { period } }, signal }))).data

export type SeriesName =
  | Extract<
      keyof Sample,
      | 'received'
      | 'stored'
      | 'online'
      | 'storedSeconds'
      | 'shownSeconds'
      | 'waitingSeconds'
      | 'lagRecords'
      | 'jobsDue'
      | 'jobsOldestSeconds'
      | 'jobsFailed'
      | 'rejected'
      | 'databaseBytes'
    >
  | 'diskUsed'

export type Unit = 'count' | 'seconds' | 'bytes'

export interface Figure {
  name: Verdict['figure']
  unit: Unit
  /** The lines of the plot; the first one has the value of now. */
  lines: readonly SeriesName[]
  /** Figures that the table shows and no plot. */
  more?: readonly { name: SeriesName; unit: Unit }[]
}

/** The plots of the page, in the order of a point's way. */
export const FIGURES: readonly Figure[] = [
  { name: 'points', unit: 'count', lines: ['received', 'stored'] },
  { name: 'online', unit: 'count', lines: ['online'] },
  { name: 'stored', unit: 'seconds', lines: ['storedSeconds'] },
  { name: 'shown', unit: 'seconds', lines: ['shownSeconds'] },
  {
    name: 'waiting',
    unit: 'seconds',
    lines: ['waitingSeconds'],
    more: [{ name: 'lagRecords', unit: 'count' }],
  },
  {
    name: 'jobs',
    unit: 'count',
    lines: ['jobsDue', 'jobsFailed'],
    more: [{ name: 'jobsOldestSeconds', unit: 'seconds' }],
  },
  { name: 'rejections', unit: 'count', lines: ['rejected'] },
  { name: 'disk', unit: 'bytes', lines: ['diskUsed'], more: [{ name: 'databaseBytes', unit: 'bytes' }] },
]

export function readValue(sample: Sample, name: SeriesName): number | null {
  if (name !== 'diskUsed') return sample[name]
  const { diskFreeBytes: free, diskSizeBytes: size } = sample
  return free === null || size === null ? null : size - free
}

/** A value at a time, in milliseconds since 1970. */
export interface Point {
  at: number
  value: number
}

/** The values of a line in pieces: between two of them there are none for longer than a sample and a half. */
export function piecesOf(samples: readonly Sample[], name: SeriesName, sampleMs: number): Point[][] {
  const pieces: Point[][] = []
  let last = Number.NEGATIVE_INFINITY
  for (const sample of samples) {
    const value = readValue(sample, name)
    if (value === null) continue
    const at = Date.parse(sample.at)
    if (at - last > 1.5 * sampleMs) pieces.push([])
    pieces.at(-1)?.push({ at, value })
    last = at
  }
  return pieces
}

/** The next round number above a value, so that the scale stays as the line moves: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find(one => one * power >= value) ?? 10
  return step * power
}

/** How often points were rejected for each reason in the time of the samples, the most frequent first. */
export function reasonsOf(samples: readonly Sample[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const { rejections } of samples)
    for (const [reason, count] of Object.entries(rejections))
      counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts].sort(([, one], [, other]) => other - one)
}
