import type { Queryable } from '../client.ts'
import { timeOfDay } from '../clock.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { type Attempt, webhookDeliveries, type webhookEvents } from '../schema/webhooks.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

const HIDDEN = ['tries', 'eventId'] as const

/** A delivery with its event. */
export type Delivery = Shown<typeof webhookDeliveries, (typeof HIDDEN)[number]> &
  Pick<typeof webhookEvents.$inferSelect, 'event' | 'dataTypeId' | 'payload'> & { messageId: string }

/** The same for every attempt and webhook, so that a receiver recognizes repetitions. */
const MESSAGE_ID = `concat('msg_', e.id)`
const COLUMNS = `${shownColumns(webhookDeliveries, 'd', HIDDEN)}, ${MESSAGE_ID} AS "messageId", e.event,
  e.data_type_id AS "dataTypeId", e.payload`
const FROM =
  'webhook_deliveries d JOIN webhook_events e ON e.organization_id = d.organization_id AND e.id = d.event_id'

export const DELIVERY_SORTS = { createdAt: { sql: 'd.id', type: 'uuid' } } as const

export interface DueDelivery {
  _id: string
  messageId: string
  event: string
  payload: string
  tries: number
}

/** The due deliveries of an endpoint, the longest due first. */
export function listDue(tx: Queryable, webhookId: string, limit: number): Promise<DueDelivery[]> {
  return tx.query(
    `SELECT d.id AS "_id", ${MESSAGE_ID} AS "messageId", e.event, e.payload, d.tries FROM ${FROM}
     WHERE d.webhook_id = $1 AND d.status = 'pending' AND d.next_attempt_at <= clock_timestamp()
     ORDER BY d.next_attempt_at, d.id LIMIT $2`,
    [webhookId, limit],
  )
}

/** The maximum of attempts in a delivery's log; the newest ones. */
const KEPT_ATTEMPTS = 50

/** Records an attempt: delivered, failed finally, or to be repeated after `retryMs`. */
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
      from: FROM,
      where,
      values,
      bytes: `octet_length(e.payload) + ${storedBytes('d.attempts')}`,
      id: 'd.id',
      sorts: DELIVERY_SORTS,
      search: [MESSAGE_ID],
      countUpTo: 1_000,
    },
    page,
  )
}

/** A delivery of the organization, or null. */
export async function findDelivery(tx: Queryable, id: string): Promise<Delivery | null> {
  const [row] = await tx.query<Delivery>(`SELECT ${COLUMNS} FROM ${FROM} WHERE d.id = $1`, [id])
  return row ?? null
}

/** Makes a delivery due now, with the whole schedule of attempts before it. */
export async function redeliver(tx: Queryable, id: string): Promise<void> {
  await tx.query(
    `UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = now() WHERE id = $1`,
    [id],
  )
}

/** The rows deleted at once: 20 ms on PGlite. */
const STEP_ROWS = 1_000

/**
 * Deletes a part of the ended deliveries over 30 days old, and of the events of that age without deliveries. Resolves
 * to whether there may be more.
 */
export async function pruneDeliveries(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ deliveries: number; events: number }>(
    `WITH deliveries AS (
       DELETE FROM webhook_deliveries WHERE id IN (
         SELECT id FROM webhook_deliveries WHERE status <> 'pending' AND id < $1 LIMIT ${STEP_ROWS}) RETURNING 1
     ), events AS (
       DELETE FROM webhook_events WHERE id IN (
         SELECT e.id FROM webhook_events e WHERE e.id < $1 AND NOT EXISTS (
           SELECT FROM webhook_deliveries d WHERE d.organization_id = e.organization_id AND d.event_id = e.id)
         LIMIT ${STEP_ROWS}) RETURNING 1)
     SELECT (SELECT count(*) FROM deliveries)::int4 AS deliveries, (SELECT count(*) FROM events)::int4 AS events`,
    [oldestKept()],
  )
  return row?.deliveries === STEP_ROWS || row?.events === STEP_ROWS
}

/** The smallest identifier of version 7 of 30 days ago. */
function oldestKept(): string {
  const hex = (timeOfDay() - 30 * 24 * 3600_000).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
