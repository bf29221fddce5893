import { openDatabase } from '../../db/client.ts'
import { startJobs } from '../../src/jobs/runner.ts'

// A process that runs jobs of five steps, to be killed at any moment (test/jobs/kill.test.ts).
const db = await openDatabase({ url: process.argv[2], directory: '', onError: () => {} })
await startJobs({
  db,
  alone: false,
  leaseMs: 900,
  pollMs: 50,
  onError: error => console.error(error),
  kinds: [
    {
      kind: 'steps',
      slots: 3,
      slotsPerRoot: 100,
      attempts: 100,
      backoffMs: () => 10,
      timeoutMs: 60_000,
      async run({ job, commit }) {
        const begun = (job.progress as { step: number } | null)?.step ?? 0
        for (let step = begun; step < 5; step++) {
          await new Promise(resolve => setTimeout(resolve, 30))
          await commit(tx => tx.query('INSERT INTO done VALUES ($1, $2, $3)', [job.id, step, process.pid]), {
            step: step + 1,
          })
        }
      },
    },
  ],
})
