import type { Queryable } from '../client.ts'

export interface JobFigures {
  kind: string
  /** Jobs whose time has come, and that nobody runs yet. */
  due: number
  /** How long the oldest of them has been waiting; 0 if there is none. */
  oldestSeconds: number
  running: number
  /** Jobs that failed for good within the last day. */
  failed: number
}

/** The background work of all organizations. */
export function readJobFigures(db: Queryable): Promise<JobFigures[]> {
  return db.query(
    `SELECT kind, coalesce(sum(due), 0)::int4 AS due, coalesce(max(oldest), 0)::float8 AS "oldestSeconds",
       coalesce(sum(running), 0)::int4 AS running, coalesce(sum(failed), 0)::int4 AS failed
     FROM (
       SELECT kind, count(*) AS due, extract(epoch FROM now() - min(run_at)) AS oldest, 0 AS running, 0 AS failed
       FROM jobs WHERE status = 'queued' AND run_at <= now() GROUP BY kind
       UNION ALL SELECT kind, 0, 0, count(*), 0 FROM jobs WHERE status = 'running' GROUP BY kind
       UNION ALL SELECT kind, 0, 0, 0, count(*) FROM jobs
       WHERE status = 'failed' AND finished_at > now() - interval '1 day' GROUP BY kind) AS parts
     GROUP BY kind`,
  )
}

export interface WebhookFigures {
  pending: number
  /** Webhooks whose last delivery failed and is tried again. */
  failing: number
  /** Webhooks that were switched off because they failed for too long, or by a person. */
  disabled: number
}

export async function readWebhookFigures(db: Queryable): Promise<WebhookFigures> {
  const [row] = await db.query<WebhookFigures>(
    `SELECT count(*)::int4 AS pending, (count(DISTINCT webhook_id) FILTER (WHERE tries > 0))::int4 AS failing,
       (SELECT count(*)::int4 FROM webhooks WHERE status = 'disabled') AS disabled
     FROM webhook_deliveries WHERE status = 'pending'`,
  )
  return row ?? { pending: 0, failing: 0, disabled: 0 }
}
