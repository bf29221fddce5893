import type { Database } from '../../db/client.ts'
import type { Config } from '../config.ts'
import { exportJob } from './exports/export.ts'
import { createExportFiles } from './exports/files.ts'
import type { Exportables } from './exports/source.ts'
import type { JobKind } from './kind.ts'
import { removalJobs } from './remove-organization.ts'
import { sampleDataJob } from './sample-data.ts'
import { upkeepJob } from './upkeep.ts'
import { webhookJobs } from './webhooks/deliver.ts'
import { createWebhookSecrets } from './webhooks/secrets.ts'

/** Everything that is done in the background. */
export function createJobKinds(
  db: Database,
  config: Pick<Config, 'webhookAllowPrivate' | 'jwtSecret' | 'dataDir'>,
  exportables: Exportables,
): JobKind[] {
  const secrets = createWebhookSecrets(config.jwtSecret)
  const webhooks = webhookJobs({ allowPrivate: config.webhookAllowPrivate, secrets })
  const files = createExportFiles(config.dataDir)
  const exports = exportJob({ db, files, exportables }) as JobKind
  return [upkeepJob(db, files), sampleDataJob, exports, ...removalJobs(db), ...webhooks]
}
