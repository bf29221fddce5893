import type { Database } from '../../db/client.ts'
import { until } from './wait.ts'

/**
 * Lets a device be silent for two hours, its newest fix with it. The server may still have a later time of it in its memory, which
 * it writes within a minute, so that this is done until `isSilent`.
 */
export const letBeSilent = (
  db: Database,
  deviceId: string,
  isSilent: () => Promise<boolean>,
): Promise<void> =>
  until('it has been silent for two hours', async () => {
    await db.system.query(
      `WITH d AS (UPDATE devices SET last_seen_at = now() - interval '2 h' WHERE id = $1 RETURNING id)
       UPDATE newest_fixes SET recorded_at = now() - interval '2 h', received_at = now() - interval '2 h'
       WHERE subject_key = (SELECT key FROM subjects WHERE id = (SELECT id FROM d))`,
      [deviceId],
    )
    return isSilent()
  })
