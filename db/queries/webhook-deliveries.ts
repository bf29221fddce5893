import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { type Attempt, type WebhookEvent, webhookDeliveries } from '../schema/webhooks.ts'
import { insertJob } from './jobs.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

export const ENDPOINT_JOB = 'webhook-endpoint'

const HIDDEN = ['tries'] as const

/** A delivery with what its payload is of. */
export type Delivery = Shown<typeof webhookDeliveries, (typeof HIDDEN)[number]>

const COLUMNS = shownColumns(webhookDeliveries, 'd', HIDDEN)

export const DELIVERY_SORTS = { createdAt: { sql: 'd.id', type: 'uuid' } } as const

/**
 * Writes events for every webhook that listens to them, in the transaction of what they tell of, and has them sent when
 * it commits. The payloads are JSON.
 */
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
  // Held, so that none is removed meanwhile.
  const webhooks = await tx.query<{ id: string; resting: boolean }>(
    `SELECT id, rests_until > now() AS resting FROM webhooks
     WHERE organization_id = $1 AND status = 'active' AND $2 = ANY(events) ORDER BY id FOR KEY SHARE`,
    [organizationId, event],
  )
  const messages = payloads.map(payload => ({ payload, messageId: `msg_${newId()}` }))
  for (const { id: webhookId, resting } of webhooks) {
    await tx.query(
      `INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event, data_type_id, message_id, payload)
       SELECT id, $1, $2, $3, $4, message_id, payload
       FROM unnest($5::uuid[], $6::text[], $7::text[]) AS m(id, message_id, payload)`,
      [
        organizationId,
        webhookId,
        event,
        dataTypeId,
        messages.map(() => newId()),
        messages.map(({ messageId }) => messageId),
        messages.map(({ payload }) => payload),
      ],
    )
    if (!resting) await orderDelivery(tx, organizationId, webhookId)
  }
}

/** Has what is due for an endpoint sent. An endpoint has one job at a time. */
export async function orderDelivery(tx: Queryable, organizationId: string, webhookId: string): Promise<void> {
  await insertJob(tx, { kind: ENDPOINT_JOB, organizationId, payload: { webhookId }, uniqueKey: webhookId })
}

/** Endpoints for which something is due, and which do not rest. */
export function listDueEndpoints(
  db: Queryable,
  limit: number,
): Promise<{ webhookId: string; organizationId: string }[]> {
  return db.query(
    `SELECT w.id AS "webhookId", w.organization_id AS "organizationId" FROM webhooks w
     WHERE w.status = 'active' AND w.rests_until <= now() AND EXISTS (
       SELECT FROM webhook_deliveries d
       WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at <= now())
     ORDER BY w.rests_until, w.id LIMIT $1`,
    [limit],
  )
}

export interface DueDelivery {
  _id: string
  messageId: string
  event: string
  payload: string
  tries: number
}

/** What is due for an endpoint, longest first. */
export function listDue(tx: Queryable, webhookId: string, limit: number): Promise<DueDelivery[]> {
  return tx.query(
    `SELECT id AS "_id", message_id AS "messageId", event, payload, tries FROM webhook_deliveries
     WHERE webhook_id = $1 AND status = 'pending' AND next_attempt_at <= clock_timestamp()
     ORDER BY next_attempt_at, id LIMIT $2`,
    [webhookId, limit],
  )
}

/** How many attempts a delivery's log keeps; the newest. */
const KEPT_ATTEMPTS = 50

/** Writes down an attempt: delivered, failed for good, or to be tried again after `retryMs`. */
export async function recordAttempt(
  tx: Queryable,
  id: string,
  attempt: Attempt,
  outcome: 'delivered' | 'failed' | { retryMs: number },
): Promise<void> {
  const retryMs = typeof outcome === 'object' ? outcome.retryMs : null
  await tx.query(
    `UPDATE webhook_deliveries SET tries = tries + 1, status = $3,
       attempts = jsonb_path_query_array(attempts || $2::jsonb, '$[last - ${KEPT_ATTEMPTS - 1} to last]'),
       next_attempt_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000) WHERE id = $1`,
    [id, JSON.stringify([attempt]), typeof outcome === 'object' ? 'pending' : outcome, retryMs],
  )
}

export function listDeliveries(
  tx: Queryable,
  webhookId: string,
  filter: { status?: string },
  page: PageRequest,
): Promise<Page<Delivery>> {
  const { where, values, add } = conditions()
  add('d.webhook_id = ?', webhookId)
  if (filter.status) add('d.status = ?', filter.status)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'webhook_deliveries d',
      where,
      values,
      bytes: `octet_length(d.payload) + ${storedBytes('d.attempts')}`,
      id: 'd.id',
      sorts: DELIVERY_SORTS,
      search: ['d.message_id'],
      countUpTo: 1_000,
    },
    page,
  )
}

/** A delivery of the organization, or null. */
export async function findDelivery(tx: Queryable, id: string): Promise<Delivery | null> {
  const [row] = await tx.query<Delivery>(`SELECT ${COLUMNS} FROM webhook_deliveries d WHERE d.id = $1`, [id])
  return row ?? null
}

/** Makes a delivery due now, with the whole schedule before it. */
export async function redeliver(tx: Queryable, id: string): Promise<void> {
  await tx.query(
    `UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = now() WHERE id = $1`,
    [id],
  )
}

/** Removes deliveries that ended and are over 30 days old. */
export async function pruneDeliveries(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE status <> 'pending' AND id < $1 LIMIT 10000)`,
    [oldestKept()],
  )
}

/** The least identifier of version 7 of 30 days ago. */
function oldestKept(): string {
  const hex = (Date.now() - 30 * 24 * 3600_000).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
