import type { Database } from '../../db/client.ts'
import type { Turns } from '../../ingest/turns.ts'
import type { Config } from '../config.ts'
import { createImportFiles } from '../imports/files.ts'
import { importJob } from '../imports/job.ts'
import { exportJob } from './exports/export.ts'
import { createExportFiles } from './exports/files.ts'
import type { Exportables } from './exports/source.ts'
import type { JobKind } from './kind.ts'
import { removalJobs } from './remove-organization.ts'
import { sampleDataJob } from './sample-data.ts'
import { scheduleJob } from './schedules/run.ts'
import { upkeepJob } from './upkeep.ts'
import { webhookJobs } from './webhooks/deliver.ts'
import { createWebhookSecrets } from './webhooks/secrets.ts'

/** Everything that is done in the background. */
export function createJobKinds(
  db: Database,
  config: Pick<Config, 'webhookAllowPrivate' | 'jwtSecret' | 'dataDir'>,
  {
    exportables,
    storedPoints,
    turns,
    onError,
  }: {
    exportables: Exportables
    /** Points that this process has stored. */
    storedPoints: () => number
    turns: Turns
    onError: (error: unknown, doing: string) => void
  },
): JobKind[] {
  const secrets = createWebhookSecrets(config.jwtSecret)
  const webhooks = webhookJobs({ allowPrivate: config.webhookAllowPrivate, secrets })
  const exported = createExportFiles(config.dataDir)
  const imported = createImportFiles(config.dataDir)
  const exports = exportJob({ db, files: exported, exportables, storedPoints }) as JobKind
  return [
    upkeepJob(db, [exported, imported]),
    scheduleJob(db, turns, onError),
    sampleDataJob,
    exports,
    importJob({ db, files: imported, storedPoints }),
    ...removalJobs(db),
    ...webhooks,
  ]
}
