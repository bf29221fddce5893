import { openDatabase } from '../../db/client.ts'
import type { JobKind } from '../../src/jobs/kind.ts'
import { startJobs } from '../../src/jobs/runner.ts'
import { createExportFiles } from '../../src/resources/exports/files.ts'
import { exportJob } from '../../src/resources/exports/job.ts'

// A process that writes exports, to be killed at any moment (test/jobs/export-kill.test.ts).
const [, , url, dataDir = ''] = process.argv
const db = await openDatabase({ url, directory: '', onError: () => {} })
const job = exportJob({
  db,
  files: createExportFiles(dataDir),
  storedPoints: () => 0,
})
await startJobs({
  db,
  alone: false,
  leaseMs: 900,
  pollMs: 50,
  onError: error => console.error(error),
  // The runner's own tests check how often a job may die.
  kinds: [{ ...job, attempts: 100 } as JobKind],
})
