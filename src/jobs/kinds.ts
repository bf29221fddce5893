import type { Database } from '../../db/client.ts'
import { removalJobs } from '../organizations/remove.ts'
import { sampleDataJob } from '../organizations/sample-data.ts'
import { upkeepJob } from '../upkeep.ts'
import type { JobKind } from './kind.ts'

/** Everything that is done in the background. */
export function createJobKinds(db: Database): JobKind[] {
  return [upkeepJob(db), sampleDataJob, ...removalJobs(db)]
}
