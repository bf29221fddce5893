import { openDatabase } from '../../db/client.ts'
import { listDueOrganizations } from '../../db/queries/schedules.ts'
import { createScheduler } from '../../fair/scheduler.ts'
import { runSchedule } from '../../src/resources/schedules/job.ts'

// A process that creates due tasks, to be killed at any moment (test/jobs/schedules/kill.test.ts).
const onError = (error: unknown) => console.error(error)
const db = await openDatabase({ url: process.argv[2], directory: '', onError })
const scheduler = createScheduler()
for (;;) {
  for (const organizationId of await listDueOrganizations(db.system))
    await runSchedule(db, scheduler, organizationId, onError)
  await new Promise(resolve => setTimeout(resolve, 5))
}
