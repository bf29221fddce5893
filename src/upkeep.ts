import type { Database } from '../db/client.ts'
import { createPartitions, dropOldPartitions } from '../db/partitions.ts'
import { pruneRejections } from '../db/queries/rejections.ts'
import { pruneSessions } from '../db/queries/sessions.ts'

const EVERY_MS = 10 * 60_000

/** What has to be done now and then: partitions ahead of time, and what has had its time removed. */
export function startUpkeep(
  db: Database,
  onError: (error: unknown, doing: string) => void,
): { stop(): Promise<void> } {
  let running = Promise.resolve()
  const run = async () => {
    await createPartitions(db, Date.now())
    await dropOldPartitions(db, Date.now())
    await pruneRejections(db.autocommit)
    await pruneSessions(db.autocommit)
  }
  const timer = setInterval(() => {
    running = running.then(run).catch(error => onError(error, 'upkeep'))
  }, EVERY_MS)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
