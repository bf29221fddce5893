import type { Database } from '../../db/client.ts'
import type { Config } from '../config.ts'
import { removalJobs } from '../organizations/remove.ts'
import { sampleDataJob } from '../organizations/sample-data.ts'
import { upkeepJob } from '../upkeep.ts'
import { webhookJobs } from '../webhooks/deliver.ts'
import type { JobKind } from './kind.ts'

/** Everything that is done in the background. */
export function createJobKinds(db: Database, config: Pick<Config, 'webhookAllowPrivate'>): JobKind[] {
  const webhooks = webhookJobs({ allowPrivate: config.webhookAllowPrivate })
  return [upkeepJob(db), sampleDataJob, ...removalJobs(db), ...webhooks]
}
