import { openDatabase } from '../../db/client.ts'
import { startJobs } from '../../src/jobs/runner.ts'
import { createImportFiles } from '../../src/resources/imports/files.ts'
import { importJob } from '../../src/resources/imports/job.ts'

// A process that imports, to be killed at any moment (test/jobs/import-kill.test.ts).
const [, , url, dataDir = ''] = process.argv
const db = await openDatabase({ url, directory: '', onError: () => {} })
await startJobs({
  db,
  alone: false,
  leaseMs: 900,
  pollMs: 50,
  onError: error => console.error(error),
  // The runner's own tests check how often a job may die.
  kinds: [{ ...importJob({ db, files: createImportFiles(dataDir), storedPoints: () => 0 }), attempts: 100 }],
})
