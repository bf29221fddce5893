import { DELAY_BUCKETS } from '../../../stream/metrics.ts'

/** Figures that are added up: of processes, and of minutes. */
const SUMS = ['minutes', 'received', 'stored', 'failedBatches'] as const
/** Figures of which the largest one counts: of processes, and of minutes. */
const LARGEST = [
  'online',
  'waitingEntries',
  'waitingSeconds',
  'lagRecords',
  'retentionSeconds',
  'jobsDue',
  'jobsOldestSeconds',
  'jobsFailed',
  'diskSizeBytes',
  'databaseBytes',
] as const
/** Numbers of batches by their delay, in the buckets of the metrics; the last one is for longer delays. */
const DELAYS = ['storedDelays', 'shownDelays'] as const

/** The figures of a process, or of all processes in a minute, an hour or a day. Null is unknown. */
export type Figures = Record<(typeof SUMS)[number], number> &
  Record<(typeof LARGEST)[number] | 'diskFreeBytes', number | null> &
  Record<(typeof DELAYS)[number], number[]> & { rejections: { [reason: string]: number } }

export const NO_FIGURES: Figures = {
  minutes: 0,
  received: 0,
  stored: 0,
  failedBatches: 0,
  online: null,
  waitingEntries: null,
  waitingSeconds: null,
  lagRecords: null,
  retentionSeconds: null,
  jobsDue: null,
  jobsOldestSeconds: null,
  jobsFailed: null,
  diskFreeBytes: null,
  diskSizeBytes: null,
  databaseBytes: null,
  storedDelays: [],
  shownDelays: [],
  rejections: {},
}

/** The figures of both together, in any order. Another release may have stored fewer of them. */
export function mergeFigures(one: Partial<Figures>, other: Partial<Figures>): Figures {
  const [a, b] = [
    { ...NO_FIGURES, ...one },
    { ...NO_FIGURES, ...other },
  ]
  const merged = { ...NO_FIGURES, rejections: { ...a.rejections } }
  for (const name of SUMS) merged[name] = a[name] + b[name]
  for (const name of LARGEST) merged[name] = pick(Math.max, a[name], b[name])
  merged.diskFreeBytes = pick(Math.min, a.diskFreeBytes, b.diskFreeBytes)
  for (const name of DELAYS) merged[name] = addUp(a[name], b[name])
  for (const [reason, count] of Object.entries(b.rejections))
    merged.rejections[reason] = (merged.rejections[reason] ?? 0) + count
  return merged
}

const pick = (choose: (a: number, b: number) => number, a: number | null, b: number | null) =>
  a === null ? b : b === null ? a : choose(a, b)

const addUp = (a: readonly number[], b: readonly number[]): number[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, index) => (a[index] ?? 0) + (b[index] ?? 0))

export const sumOf = (counts: { [reason: string]: number }): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** The share of batches whose delay is shorter. */
const SHARE = 0.95

/**
 * The delay in seconds that 95 of 100 batches stay below, estimated within its bucket; null where there were none.
 * Beyond the last bucket it is that bucket's end.
 */
export function delayOf(counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = SHARE * total
  for (const [index, end] of DELAY_BUCKETS.entries()) {
    const count = counts[index] ?? 0
    const begin = DELAY_BUCKETS[index - 1] ?? 0
    if (count > 0 && left <= count) return begin + (end - begin) * (left / count)
    left -= count
  }
  return DELAY_BUCKETS.at(-1) ?? null
}
