import { delayOf, type Figures, mergeFigures, NO_FIGURES, sumOf } from './figures.ts'

/** The figures that are judged; the console draws one plot for each. */
export const SUBJECTS = [
  'points',
  'online',
  'stored',
  'shown',
  'waiting',
  'jobs',
  'rejections',
  'disk',
] as const
export type Judged = (typeof SUBJECTS)[number]

export const STATES = ['good', 'warning', 'bad', 'unknown'] as const

/** Each verdict in words, with the next step where there is one. */
export const CAUSES = {
  'no-figures':
    'No figures have come for five minutes. Is a process with the role jobs running? Its log says why it writes none.',
  'points-stored': 'Points are accepted and stored.',
  'not-stored':
    'Batches of points could not be stored. The log names the reason: the database is away, its disk is full, or a password has changed. Points wait unacknowledged, or in Kafka.',
  'points-stopped':
    'No point has come for ten minutes, and before that there were many. Check that devices reach this server: its address, its ports, the certificate of MQTT, and the connections to other brokers.',
  'online-steady': 'About as many subjects are online as in the hour before.',
  'online-fell':
    'Fewer than half of those that were online within the last hour still are. Look at what they share: the network, a connection to a broker, the certificate of MQTT.',
  'not-measured': 'No running process measures it.',
  'stored-quickly': 'Points are stored soon after they are received.',
  'stored-slowly':
    'Points are stored late. Look at the disk and the processor of the database, then add processes with the role writer, or a larger machine.',
  'nothing-stored': 'No points were stored within five minutes.',
  'shown-quickly': 'Screens show points soon after they are received.',
  'shown-slowly':
    'Screens show points late. Look at the processor of the processes with the role live, and add one.',
  'nobody-watches': 'Nobody has watched a moving subject within five minutes.',
  'nothing-waits': 'Nothing waits for long to be stored.',
  'points-wait':
    'Points have been waiting to be stored. The database or Kafka answers nobody, or a partition stands still: the log names it. Devices keep what is not acknowledged.',
  'retention-near':
    'Points have waited in Kafka for more than half of its retention, and are lost when it ends. Get the database or the writers to work, or lengthen retention.ms of the topic.',
  'jobs-run': 'Background work is done on time.',
  'jobs-wait':
    'The oldest job has been waiting for over 15 minutes. Is a process with the role jobs running? If so, one kind has more work than turns: see fieldline_jobs_running in the metrics.',
  'jobs-failed':
    'Some background work failed within the last day. The log names each job, and imports, exports and webhooks say why in their own lists.',
  'few-rejected': 'Few points are rejected.',
  'many-rejected':
    'Many points were rejected within the last hour. The page of rejected points names the devices, and what to do for each reason.',
  'disk-has-room': 'The disk has room.',
  'disk-fills':
    'The disk is full within two weeks if it goes on like this. Make room, move DATA_DIR, or lower RETENTION_DAYS.',
  'disk-full':
    'The disk is nearly full, and nothing can be stored on a full one. Make room, move DATA_DIR to a larger disk, or lower RETENTION_DAYS. Exports and uploads go after 30 days.',
} as const
export type Cause = keyof typeof CAUSES

export interface Verdict {
  figure: Judged
  state: (typeof STATES)[number]
  cause: Cause
  message: string
}

export interface Judgeable {
  at: Date
  figures: Figures
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const FRESH_MS = 5 * MINUTE_MS
const STOPPED_MS = 10 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS
/** The delay in seconds from which a figure is slow, and from which it is bad. */
const SLOW = { stored: [5, 60], shown: [3, 10], waiting: [10, 60] } as const
const JOBS_WAIT_S = 900
/** Fewer than this tell nothing about a share. */
const ENOUGH = 10
const MANY_REJECTED = { warning: 0.05, bad: 0.5 } as const
const LITTLE_ROOM = 0.1
const FULL_WITHIN_MS = { bad: 3 * DAY_MS, warning: 14 * DAY_MS } as const

/** Whether each figure is well, from the samples of the last hour, and the time at which the disk will be full. */
export function judge(now: number, minutes: readonly Judgeable[], fullAt: number | null): Verdict[] {
  const since = (ms: number) => addUp(minutes.filter(({ at }) => at.getTime() > now - ms))
  const fresh = since(FRESH_MS)
  const verdict = (figure: Judged, state: Verdict['state'], cause: Cause): Verdict => ({
    ...{ figure, state, cause },
    message: CAUSES[cause],
  })
  if (fresh.minutes === 0) return SUBJECTS.map(figure => verdict(figure, 'unknown', 'no-figures'))
  const hour = since(HOUR_MS)
  const last = minutes.at(-1)?.figures ?? NO_FIGURES
  const slow = (
    figure: keyof typeof SLOW,
    seconds: number | null,
    causes: readonly [Cause, Cause, Cause],
  ) => {
    const [good, late, none] = causes
    if (seconds === null) return verdict(figure, 'unknown', none)
    const [warning, bad] = SLOW[figure]
    if (seconds > warning) return verdict(figure, seconds > bad ? 'bad' : 'warning', late)
    return verdict(figure, 'good', good)
  }
  return [
    verdict('points', ...judgePoints(fresh, since(STOPPED_MS), hour)),
    verdict('online', ...judgeOnline(last, hour)),
    slow('stored', delayOf(fresh.storedDelays), ['stored-quickly', 'stored-slowly', 'nothing-stored']),
    slow('shown', delayOf(fresh.shownDelays), ['shown-quickly', 'shown-slowly', 'nobody-watches']),
    isNearRetention(last)
      ? verdict('waiting', 'bad', 'retention-near')
      : slow('waiting', last.waitingSeconds, ['nothing-waits', 'points-wait', 'not-measured']),
    verdict('jobs', ...judgeJobs(last)),
    verdict('rejections', ...judgeRejections(hour)),
    verdict('disk', ...judgeDisk(now, last, fullAt)),
  ]
}

type Found = readonly [Verdict['state'], Cause]

export const addUp = (samples: readonly Judgeable[]): Figures =>
  samples.reduce((sum, { figures }) => mergeFigures(sum, figures), NO_FIGURES)

function judgePoints(fresh: Figures, lately: Figures, hour: Figures): Found {
  if (fresh.failedBatches > 0) return ['bad', 'not-stored']
  const before = hour.received - lately.received
  const isAbrupt =
    lately.minutes >= 5 && lately.received === 0 && before >= ENOUGH * (hour.minutes - lately.minutes)
  return isAbrupt && before > 0 ? ['warning', 'points-stopped'] : ['good', 'points-stored']
}

function judgeOnline(last: Figures, hour: Figures): Found {
  if (last.online === null || hour.online === null) return ['unknown', 'not-measured']
  const hasFallen = hour.online >= ENOUGH && last.online < hour.online / 2
  return hasFallen ? ['warning', 'online-fell'] : ['good', 'online-steady']
}

const isNearRetention = ({ waitingSeconds, retentionSeconds }: Figures) =>
  waitingSeconds !== null && retentionSeconds !== null && waitingSeconds > retentionSeconds / 2

function judgeJobs({ jobsOldestSeconds, jobsFailed }: Figures): Found {
  if (jobsOldestSeconds === null) return ['unknown', 'not-measured']
  if (jobsOldestSeconds > JOBS_WAIT_S) return ['bad', 'jobs-wait']
  return (jobsFailed ?? 0) > 0 ? ['warning', 'jobs-failed'] : ['good', 'jobs-run']
}

function judgeRejections({ rejections, received }: Figures): Found {
  const rejected = sumOf(rejections)
  const share = rejected / (received + rejected)
  if (rejected < ENOUGH || share < MANY_REJECTED.warning) return ['good', 'few-rejected']
  return [share > MANY_REJECTED.bad ? 'bad' : 'warning', 'many-rejected']
}

function judgeDisk(now: number, { diskFreeBytes, diskSizeBytes }: Figures, fullAt: number | null): Found {
  if (diskFreeBytes === null || diskSizeBytes === null) return ['unknown', 'not-measured']
  const leftMs = (fullAt ?? Number.POSITIVE_INFINITY) - now
  if (diskFreeBytes < LITTLE_ROOM * diskSizeBytes || leftMs < FULL_WITHIN_MS.bad) return ['bad', 'disk-full']
  return leftMs < FULL_WITHIN_MS.warning ? ['warning', 'disk-fills'] : ['good', 'disk-has-room']
}

/** A forecast needs this many hours, and says nothing about a time further away. */
const FORECAST_FROM = 24
const FORECAST_YEARS = 5

/**
 * When the disk will be full, by the line that fits its room in the last samples best (least squares); null where it does
 * not fill, or too little is known.
 */
export function forecastFull(now: number, hours: readonly Judgeable[]): number | null {
  const known = hours.flatMap(({ at, figures: { diskFreeBytes: free } }) =>
    free === null ? [] : { x: (at.getTime() - now) / DAY_MS, free },
  )
  const last = known.at(-1)
  if (!last || known.length < FORECAST_FROM) return null
  const mean = (read: (one: { x: number; free: number }) => number) =>
    known.reduce((sum, one) => sum + read(one), 0) / known.length
  const [meanX, meanFree] = [mean(({ x }) => x), mean(({ free }) => free)]
  const spread = mean(({ x }) => (x - meanX) ** 2)
  const perDay = spread === 0 ? 0 : mean(({ x, free }) => (x - meanX) * (free - meanFree)) / spread
  const days = perDay < 0 ? last.free / -perDay : Number.POSITIVE_INFINITY
  return days < FORECAST_YEARS * 365 ? now + days * DAY_MS : null
}
