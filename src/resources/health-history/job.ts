import type { Queryable } from '../../../db/client.ts'
import {
  findSamples,
  measureDatabase,
  pruneSamples,
  type Resolution,
  type Sample,
  type StoredFigures,
  takeReports,
  writeSamples,
} from '../../../db/queries/health-history.ts'
import type { JobKind } from '../../jobs/kind.ts'
import { type Figures, mergeFigures, NO_FIGURES } from './figures.ts'

const EVERY_MS = 60_000
const LENGTH_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const satisfies Record<
  Resolution,
  number
>

/** Adds the reports of all processes to the samples. One of all processes with the role `jobs` does it at a time. */
export const healthJob: JobKind = {
  kind: 'health',
  slots: 1,
  slotsPerRoot: 1,
  attempts: 1,
  backoffMs: () => EVERY_MS,
  timeoutMs: EVERY_MS,
  everyMs: EVERY_MS,
  async run({ commit }) {
    await commit(async tx => {
      await sampleHealth(tx)
      await pruneSamples(tx)
      // It runs so often that its finished jobs would fill the table.
      await tx.query(`DELETE FROM jobs WHERE kind = 'health' AND status = 'done'`)
    })
  },
}

/** Takes the reports of processes and adds them to the minute, the hour and the day that each belongs to. */
export async function sampleHealth(tx: Queryable): Promise<void> {
  const reports = await takeReports<Partial<Figures>>(tx)
  if (reports.length === 0) return
  const minutes = groupBy('minute', reports)
  const stored = await readStored(tx, 'minute', minutes)
  const isNew = (at: number) => !stored.has(at)
  const added: Sample<Figures>[] = []
  for (const [at, figures] of minutes) {
    const before = stored.get(at)
    added.push({
      resolution: 'minute',
      at: new Date(at),
      figures: { ...mergeFigures(before ?? NO_FIGURES, figures), minutes: 1 },
    })
  }
  const fresh = [...minutes].map(([at, figures]) => ({
    at: new Date(at),
    figures: { ...figures, minutes: isNew(at) ? 1 : 0 },
  }))
  for (const resolution of ['hour', 'day'] as const) {
    const groups = groupBy(resolution, fresh)
    const before = await readStored(tx, resolution, groups)
    for (const [at, figures] of groups)
      added.push({
        resolution,
        at: new Date(at),
        figures: mergeFigures(before.get(at) ?? NO_FIGURES, figures),
      })
  }
  await addDatabaseSize(tx, added)
  await writeSamples(tx, added)
}

/** The figures by the beginning of the minute, hour or day that they belong to. */
function groupBy(
  resolution: Resolution,
  reports: readonly StoredFigures<Partial<Figures>>[],
): Map<number, Figures> {
  const groups = new Map<number, Figures>()
  for (const { at, figures } of reports) {
    const begin = Math.floor(at.getTime() / LENGTH_MS[resolution]) * LENGTH_MS[resolution]
    groups.set(begin, mergeFigures(groups.get(begin) ?? NO_FIGURES, figures))
  }
  return groups
}

async function readStored(
  tx: Queryable,
  resolution: Resolution,
  groups: ReadonlyMap<number, unknown>,
): Promise<Map<number, Figures>> {
  const times = [...groups.keys()].map(at => new Date(at))
  const rows = await findSamples<Figures>(tx, resolution, times)
  return new Map(rows.map(({ at, figures }) => [at.getTime(), figures]))
}

/** The size of the database changes slowly, so it is measured for the first sample of an hour. */
async function addDatabaseSize(tx: Queryable, added: readonly Sample<Figures>[]): Promise<void> {
  const hour = added.find(({ resolution }) => resolution === 'hour')
  const bytes = hour?.figures.databaseBytes ?? (await measureDatabase(tx))
  for (const { figures } of added) figures.databaseBytes ??= bytes
}
