import type { Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { type WebhookEvent, webhooks } from '../schema/webhooks.ts'
import { type Page, type PageRequest, readPage, storedBytes } from './page.ts'

const HIDDEN = [
  'secret',
  'previousSecret',
  'previousUntil',
  'slowFailures',
  'restsUntil',
  'position',
  'listensSince',
  'deletedAt',
  'testedAt',
] as const

/** A webhook as the interface shows it. */
export type Webhook = Shown<typeof webhooks, (typeof HIDDEN)[number]>

export type NewWebhook = Pick<Webhook, 'url' | 'events' | 'description' | 'status'>

const COLUMNS = shownColumns(webhooks, 'w', HIDDEN)

/** A new subscriber gets no earlier events. An event may have no position yet: `listens_since` decides for these. */
const NEWEST_POSITION = '(SELECT last_value FROM webhook_event_positions)'

export const WEBHOOK_SORTS = {
  createdAt: { sql: 'w.created_at', type: 'timestamptz' },
  url: { sql: 'w.url', type: 'text' },
} as const

export function listWebhooks(tx: Queryable, page: PageRequest): Promise<Page<Webhook>> {
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'webhooks w',
      where: ['w.deleted_at IS NULL'],
      values: [],
      bytes: storedBytes('w.url', 'w.events', 'w.description'),
      id: 'w.id',
      sorts: WEBHOOK_SORTS,
      search: ['w.url', 'w.description'],
    },
    page,
  )
}

/** A webhook of the organization, or null. */
export async function findWebhook(tx: Queryable, id: string): Promise<Webhook | null> {
  const [row] = await tx.query<Webhook>(
    `SELECT ${COLUMNS} FROM webhooks w WHERE w.id = $1 AND w.deleted_at IS NULL`,
    [id],
  )
  return row ?? null
}

export async function insertWebhook(
  tx: Queryable,
  organizationId: string,
  webhook: NewWebhook & { id: string; secret: string },
): Promise<void> {
  await tx.query(
    `INSERT INTO webhooks (id, organization_id, url, events, description, status, secret, position)
     VALUES ($1, $2, $3, $4::text[], $5, $6, $7, ${NEWEST_POSITION})`,
    [
      webhook.id,
      organizationId,
      webhook.url,
      webhook.events,
      webhook.description,
      webhook.status,
      webhook.secret,
    ],
  )
}

/** Replaces a webhook. The waiting deliveries of a disabled one fail; a changed one rests no longer. */
export async function updateWebhook(tx: Queryable, id: string, webhook: NewWebhook): Promise<void> {
  await tx.query(
    `UPDATE webhooks SET url = $2, events = $3::text[], description = $4, status = $5, updated_at = now(),
       slow_failures = 0, rests_until = '-infinity',
       position = CASE status WHEN 'active' THEN position ELSE ${NEWEST_POSITION} END,
       listens_since = CASE status WHEN 'active' THEN listens_since ELSE clock_timestamp() END
     WHERE id = $1`,
    [id, webhook.url, webhook.events, webhook.description, webhook.status],
  )
  if (webhook.status === 'disabled') await failPending(tx, id)
}

/** Gives a webhook another secret; the previous one also signs for a day. */
export async function rotateSecret(tx: Queryable, id: string, secret: string): Promise<void> {
  await tx.query(
    `UPDATE webhooks SET previous_secret = secret, previous_until = now() + interval '24 hours', secret = $2,
       updated_at = now() WHERE id = $1`,
    [id, secret],
  )
}

/** The least time between two tests of a webhook. */
export const TEST_EVERY_S = 10

/** Notes that a webhook is tested now. Returns false if that was done a moment ago. */
export async function beginTest(tx: Queryable, id: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE webhooks SET tested_at = clock_timestamp()
     WHERE id = $1 AND (tested_at IS NULL OR tested_at < clock_timestamp() - interval '${TEST_EVERY_S} seconds')
     RETURNING 1`,
    [id],
  )
  return rows.length > 0
}

/**
 * Hides a webhook from everybody. Its rows are deleted in steps (`clearWebhooks`): it may have a million deliveries.
 */
export async function deleteWebhook(tx: Queryable, id: string): Promise<void> {
  await tx.query(
    `UPDATE webhooks SET status = 'disabled', deleted_at = now(), secret = '', previous_secret = NULL WHERE id = $1`,
    [id],
  )
}

/** Disables a webhook whose receiver has answered that it is gone, unless it has another address by now. */
export async function disableWebhook(tx: Queryable, id: string, url: string): Promise<void> {
  const disabled = await tx.query(
    `UPDATE webhooks SET status = 'disabled', updated_at = now() WHERE id = $1 AND url = $2 RETURNING 1`,
    [id, url],
  )
  if (disabled.length > 0) await failPending(tx, id)
}

/** Fails the first pending deliveries, usually all of them; the rest follows in steps (`clearWebhooks`). */
async function failPending(tx: Queryable, webhookId: string): Promise<void> {
  await tx.query(
    `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'pending' LIMIT ${STEP_ROWS})`,
    [webhookId],
  )
}

/** The rows changed or deleted at once: 20 ms on PGlite. */
const STEP_ROWS = 1_000

/**
 * One step of clearing disabled and deleted webhooks: pending deliveries fail, and the deliveries of a deleted webhook
 * are deleted, then the webhook itself. Resolves to whether there may be more.
 */
export async function clearWebhooks(db: Queryable): Promise<boolean> {
  const [failed] = await db.query<{ count: number }>(
    `WITH failed AS (
       UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE id IN (
         SELECT d.id FROM webhooks w CROSS JOIN LATERAL (
           SELECT id FROM webhook_deliveries
           WHERE webhook_id = w.id AND status = 'pending' LIMIT ${STEP_ROWS}) d
         WHERE w.status = 'disabled' AND w.deleted_at IS NULL LIMIT ${STEP_ROWS})
       RETURNING 1)
     SELECT count(*)::int4 AS count FROM failed`,
  )
  const [deleted] = await db.query<{ count: number }>(
    `WITH deleted AS (
       DELETE FROM webhook_deliveries WHERE id IN (
         SELECT d.id FROM webhooks w CROSS JOIN LATERAL (
           SELECT id FROM webhook_deliveries WHERE webhook_id = w.id LIMIT ${STEP_ROWS}) d
         WHERE w.status = 'disabled' AND w.deleted_at IS NOT NULL LIMIT ${STEP_ROWS})
       RETURNING 1)
     SELECT count(*)::int4 AS count FROM deleted`,
  )
  if (failed?.count === STEP_ROWS || deleted?.count === STEP_ROWS) return true
  await db.query(
    `DELETE FROM webhooks w WHERE w.status = 'disabled' AND w.deleted_at IS NOT NULL
       AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id)`,
  )
  return false
}

/** The target of an endpoint's deliveries, and the secrets that sign them, in their stored form. */
export interface Endpoint {
  url: string
  secret: string
  /** The secret before the last rotation, while it also signs. */
  previous: string | null
  slowFailures: number
  events: WebhookEvent[]
  /** The position of the last event that it took, as text: it has 64 bits. */
  position: string
}

/** The endpoint of an active webhook, or null. */
export async function findEndpoint(tx: Queryable, webhookId: string): Promise<Endpoint | null> {
  const [row] = await tx.query<Endpoint>(
    `SELECT url, secret, CASE WHEN previous_until > now() THEN previous_secret END AS previous,
       slow_failures AS "slowFailures", events, position::text
     FROM webhooks WHERE id = $1 AND status = 'active'`,
    [webhookId],
  )
  return row ?? null
}

/** Whether an active webhook has another address than this one. It keeps the address until the transaction ends. */
export async function hasMoved(tx: Queryable, webhookId: string, url: string): Promise<boolean> {
  const [row] = await tx.query<{ url: string }>(
    `SELECT url FROM webhooks WHERE id = $1 AND status = 'active' FOR NO KEY UPDATE`,
    [webhookId],
  )
  return row !== undefined && row.url !== url
}

/** The secrets of webhooks of all organizations that begin with this text, including those before a rotation. */
export function listPlainSecrets(
  db: Queryable,
  beginning: string,
): Promise<{ _id: string; secret: string; previous: string | null }[]> {
  return db.query(
    `SELECT id AS "_id", secret, previous_secret AS previous FROM webhooks
     WHERE starts_with(secret, $1) OR starts_with(previous_secret, $1)`,
    [beginning],
  )
}

/** A page of the stored secrets of all organizations, after the webhook `after`. */
export function listSealedSecrets(
  db: Queryable,
  after: string | null,
): Promise<{ _id: string; secret: string; previous: string | null }[]> {
  return db.query(
    `SELECT id AS "_id", secret, previous_secret AS previous FROM webhooks
     WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT 500`,
    [after],
  )
}

/** The sealed secrets of one organization's webhooks. */
export function listSealedSecretsOf(
  db: Queryable,
  organizationId: string,
): Promise<{ _id: string; url: string; secret: string }[]> {
  return db.query(
    `SELECT id AS "_id", url, secret FROM webhooks
     WHERE organization_id = $1 AND deleted_at IS NULL ORDER BY url, id`,
    [organizationId],
  )
}

/** Stores the secrets of a webhook in another form, unless they were changed meanwhile. */
export async function replaceSecrets(
  db: Queryable,
  id: string,
  given: { from: string; secret: string; previous: string | null },
): Promise<void> {
  await db.query('UPDATE webhooks SET secret = $3, previous_secret = $4 WHERE id = $1 AND secret = $2', [
    id,
    given.from,
    given.secret,
    given.previous,
  ])
}

/** Lets a slow endpoint rest, or ends its rest. Returns false if it has another address by now, and stays as it is. */
export async function restEndpoint(
  tx: Queryable,
  webhookId: string,
  { url, slowFailures }: Pick<Endpoint, 'url' | 'slowFailures'>,
  restMs: number,
): Promise<boolean> {
  const changed = await tx.query(
    `UPDATE webhooks SET slow_failures = $3, rests_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
     WHERE id = $1 AND url = $2 RETURNING 1`,
    [webhookId, url, slowFailures, restMs],
  )
  return changed.length > 0
}
