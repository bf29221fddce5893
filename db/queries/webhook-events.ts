import { newId, type Queryable } from '../client.ts'
import { TEST_EVENT, type WebhookEvent } from '../schema/webhooks.ts'
import { insertJob, insertJobs } from './jobs.ts'
import type { Endpoint } from './webhooks.ts'

/**
 * Events on their way to webhooks. The creation of a record writes one row for its event, however many webhooks
 * subscribe. A job of the organization gives the events their order after their transactions have ended. Then the job
 * of each endpoint takes the next events after its own position, some at a time, and each becomes a delivery.
 */
export const FAN_OUT_JOB = 'webhook-fan-out'
export const ENDPOINT_JOB = 'webhook-endpoint'

/** Writes events in the transaction of their records, and has them sent when it commits. The payloads are JSON. */
export async function insertEvents(
  tx: Queryable,
  organizationId: string,
  {
    event,
    dataTypeId,
    payloads,
  }: { event: WebhookEvent; dataTypeId: string | null; payloads: readonly string[] },
): Promise<void> {
  if (payloads.length === 0) return
  const [inserted] = await tx.query<{ count: number }>(
    `WITH inserted AS (
       INSERT INTO webhook_events (id, organization_id, event, data_type_id, payload)
       SELECT id, $1, $2, $3, payload FROM unnest($4::uuid[], $5::text[]) AS e(id, payload)
       WHERE EXISTS (SELECT FROM webhooks WHERE organization_id = $1 AND status = 'active' AND $2 = ANY(events))
       RETURNING 1)
     SELECT count(*)::int4 AS count FROM inserted`,
    [organizationId, event, dataTypeId, payloads.map(() => newId()), payloads],
  )
  if (inserted?.count) await orderFanOut(tx, organizationId)
}

/**
 * Writes a test of one webhook and its delivery, which is due now. Returns the delivery's identifier. The event has position
 * 0, before that of every other one, so that it is neither placed nor taken.
 */
export async function insertTest(
  tx: Queryable,
  organizationId: string,
  webhookId: string,
  payload: string,
): Promise<string> {
  const [eventId, deliveryId] = [newId(), newId()]
  await tx.query(
    `INSERT INTO webhook_events (id, organization_id, event, payload, position) VALUES ($1, $2, $3, $4, 0)`,
    [eventId, organizationId, TEST_EVENT, payload],
  )
  await tx.query(
    `INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event_id) VALUES ($1, $2, $3, $4)`,
    [deliveryId, organizationId, webhookId, eventId],
  )
  return deliveryId
}

const orderFanOut = (tx: Queryable, organizationId: string) =>
  insertJob(tx, { kind: FAN_OUT_JOB, organizationId, uniqueKey: organizationId })

/** Orders the sending of an endpoint's waiting events. An endpoint has one job at a time. */
export async function orderDelivery(tx: Queryable, organizationId: string, webhookId: string): Promise<void> {
  await insertJob(tx, { kind: ENDPOINT_JOB, organizationId, payload: { webhookId }, uniqueKey: webhookId })
}

/** Gives at most `limit` events of an organization their position; one job at a time does this. Returns their kinds. */
export async function placeEvents(
  tx: Queryable,
  organizationId: string,
  limit: number,
): Promise<{ kinds: WebhookEvent[]; count: number }> {
  const rows = await tx.query<{ event: WebhookEvent; count: number }>(
    `WITH unplaced AS MATERIALIZED (
       SELECT id FROM webhook_events WHERE organization_id = $1 AND position IS NULL ORDER BY created_at, id LIMIT $2
     ), given AS MATERIALIZED (
       SELECT id, nextval('webhook_event_positions') AS position FROM unplaced
     ), placed AS (
       UPDATE webhook_events e SET position = given.position FROM given
       WHERE e.organization_id = $1 AND e.id = given.id RETURNING e.event)
     SELECT event, count(*)::int4 AS count FROM placed GROUP BY event`,
    [organizationId, limit],
  )
  return { kinds: rows.map(({ event }) => event), count: rows.reduce((sum, { count }) => sum + count, 0) }
}

/**
 * Orders deliveries for a page of the endpoints that subscribe to one of these kinds. Returns the last endpoint, or
 * null.
 */
export async function orderDeliveries(
  tx: Queryable,
  organizationId: string,
  kinds: readonly WebhookEvent[],
  page: { after: string | null; limit: number },
): Promise<string | null> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM webhooks
     WHERE organization_id = $1 AND status = 'active' AND rests_until <= now() AND events && $2::text[]
       AND ($3::uuid IS NULL OR id > $3) ORDER BY id LIMIT $4`,
    [organizationId, kinds, page.after, page.limit],
  )
  await insertJobs(
    tx,
    ENDPOINT_JOB,
    rows.map(({ id }) => ({ organizationId, payload: { webhookId: id }, uniqueKey: id })),
  )
  return rows.length < page.limit ? null : (rows.at(-1)?.id ?? null)
}

/**
 * A dead endpoint takes no more events while this many of its deliveries wait for their next attempt: later events stay
 * one row each.
 */
const MAX_PENDING = 10_000

/**
 * Turns the next events after an endpoint's position into deliveries. Returns their number, or that too many are
 * waiting.
 */
export async function takeEvents(
  tx: Queryable,
  organizationId: string,
  webhookId: string,
  { events, position }: Endpoint,
  limit: number,
): Promise<number | 'full'> {
  const rows = await tx.query<{ id: string; position: string; isOwn: boolean; at: string }>(
    `SELECT e.id, e.position::text, e.created_at::text AS at,
       e.created_at >= (SELECT listens_since FROM webhooks WHERE id = $5) AS "isOwn"
     FROM unnest($2::text[]) AS kind CROSS JOIN LATERAL (
       SELECT id, position, created_at FROM webhook_events
       WHERE organization_id = $1 AND event = kind AND position > $3::bigint ORDER BY position LIMIT $4) e
     ORDER BY e.position LIMIT $4`,
    [organizationId, events, position, limit, webhookId],
  )
  const last = rows.at(-1)
  if (!last) return 0
  const [waiting] = await tx.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM (
       SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'pending' LIMIT ${MAX_PENDING}) pending`,
    [webhookId],
  )
  if ((waiting?.count ?? 0) >= MAX_PENDING) return 'full'
  // The webhook may have been reactivated meanwhile, which sets another position.
  const moved = await tx.query(
    `UPDATE webhooks SET position = $3::bigint WHERE id = $1 AND status = 'active' AND position = $2::bigint RETURNING 1`,
    [webhookId, position, last.position],
  )
  const own = moved.length > 0 ? rows.filter(({ isOwn }) => isOwn) : []
  if (own.length > 0) {
    await tx.query(
      `INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event_id, next_attempt_at, created_at)
       SELECT id, $1, $2, event_id, at, at
       FROM unnest($3::uuid[], $4::uuid[], $5::timestamptz[]) AS d(id, event_id, at)`,
      [organizationId, webhookId, own.map(() => newId()), own.map(({ id }) => id), own.map(({ at }) => at)],
    )
  }
  return rows.length
}

/** Orders due or left-over work of all organizations: retries, and events that came while a job was just ending. */
export async function orderWhatIsDue(tx: Queryable, limit: number): Promise<void> {
  const unplaced = await tx.query<{ organizationId: string }>(
    `WITH RECURSIVE found AS (
       (SELECT organization_id FROM webhook_events WHERE position IS NULL ORDER BY organization_id LIMIT 1)
       UNION ALL
       SELECT (SELECT e.organization_id FROM webhook_events e
               WHERE e.position IS NULL AND e.organization_id > f.organization_id ORDER BY e.organization_id LIMIT 1)
       FROM found f WHERE f.organization_id IS NOT NULL)
     SELECT organization_id AS "organizationId" FROM found WHERE organization_id IS NOT NULL LIMIT $1`,
    [limit],
  )
  await insertJobs(
    tx,
    FAN_OUT_JOB,
    unplaced.map(({ organizationId }) => ({ organizationId, payload: {}, uniqueKey: organizationId })),
  )
  // Endpoints that have their job already would fill the limit.
  const due = await tx.query<{ webhookId: string; organizationId: string }>(
    `SELECT w.id AS "webhookId", w.organization_id AS "organizationId" FROM webhooks w
     WHERE w.status = 'active' AND w.rests_until <= now()
       AND (EXISTS (
         SELECT FROM webhook_deliveries d
         WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at <= now())
       OR EXISTS (
         SELECT FROM unnest(w.events) AS kind CROSS JOIN LATERAL (
           SELECT FROM webhook_events e
           WHERE e.organization_id = w.organization_id AND e.event = kind AND e.position > w.position LIMIT 1) e))
       AND NOT EXISTS (
         SELECT FROM jobs j
         WHERE j.kind = $2 AND j.unique_key = w.id::text AND j.status IN ('queued', 'running'))
     ORDER BY w.rests_until, w.id LIMIT $1`,
    [limit, ENDPOINT_JOB],
  )
  await insertJobs(
    tx,
    ENDPOINT_JOB,
    due.map(({ organizationId, webhookId }) => ({
      organizationId,
      payload: { webhookId },
      uniqueKey: webhookId,
    })),
  )
}
