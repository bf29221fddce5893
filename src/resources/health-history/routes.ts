import type { Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { listSamples, type Resolution } from '../../../db/queries/health-history.ts'
import { ok } from '../../http/envelope.ts'
import { forbidden } from '../../http/errors.ts'
import { runsServer } from '../../http/operator.ts'
import type { App, Services } from '../../services.ts'
import { delayOf, type Figures, mergeFigures, NO_FIGURES, sumOf } from './figures.ts'
import * as operations from './schemas.ts'
import { forecastFull, type Judgeable, judge } from './verdicts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SHOWN = {
  day: { resolution: 'minute', ms: DAY_MS, sampleSeconds: 60 },
  month: { resolution: 'hour', ms: 31 * DAY_MS, sampleSeconds: 3_600 },
  year: { resolution: 'day', ms: 366 * DAY_MS, sampleSeconds: 86_400 },
} as const
const FORECAST_BY_MS = 7 * DAY_MS

export function healthHistoryRoutes(app: App, { db }: Services): void {
  app.get('/health-history', operations.getHealthHistory, async ({ caller, query: { period } }) => {
    if (!(await runsServer(db.system, caller)))
      throw forbidden('Only the Owner of the first organization of this server sees how it is doing.')
    const now = timeOfDay()
    const { resolution, ms, sampleSeconds } = SHOWN[period]
    const samples = await readSamples(db.system, resolution, now - ms)
    const minutes = resolution === 'minute' ? samples : await readSamples(db.system, 'minute', now - HOUR_MS)
    const fullAt = forecastFull(now, await readSamples(db.system, 'hour', now - FORECAST_BY_MS))
    return ok({
      period,
      sampleSeconds,
      verdicts: judge(now, minutes, fullAt),
      diskFullAt: fullAt === null ? null : new Date(fullAt),
      samples: samples.map(present),
    })
  })
}

/** The samples since a time. An earlier release may have stored fewer figures. */
async function readSamples(db: Queryable, resolution: Resolution, since: number): Promise<Judgeable[]> {
  const rows = await listSamples<Partial<Figures>>(db, resolution, new Date(since))
  return rows.map(({ at, figures }) => ({ at, figures: mergeFigures(NO_FIGURES, figures) }))
}

function present({ at, figures }: Judgeable) {
  const { minutes, received, stored, rejections, storedDelays, shownDelays } = figures
  const perMinute = (sum: number) => Math.round((sum / Math.max(1, minutes)) * 100) / 100
  return {
    ...figures,
    at,
    received: perMinute(received),
    stored: perMinute(stored),
    rejected: perMinute(sumOf(rejections)),
    storedSeconds: delayOf(storedDelays),
    shownSeconds: delayOf(shownDelays),
  }
}
