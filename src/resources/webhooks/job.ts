import type { Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import {
  type DueDelivery,
  listDue,
  pruneDeliveries,
  recordAttempt,
} from '../../../db/queries/webhook-deliveries.ts'
import {
  ENDPOINT_JOB,
  FAN_OUT_JOB,
  orderDeliveries,
  orderWhatIsDue,
  placeEvents,
  takeEvents,
} from '../../../db/queries/webhook-events.ts'
import {
  clearWebhooks,
  disableWebhook,
  type Endpoint,
  findEndpoint,
  hasMoved,
  restEndpoint,
} from '../../../db/queries/webhooks.ts'
import { TEST_EVENT } from '../../../db/schema/webhooks.ts'
import { doublingBackoff, type JobContext, type JobKind } from '../../jobs/kind.ts'
import type { WebhookSecrets } from './secrets.ts'
import { createSender, type Sender, type Sent } from './send.ts'

/**
 * Deliveries to webhooks. An event is one row, written in the transaction of its record. A job of the organization puts
 * the events in order and starts a job for each endpoint that subscribes to them. An endpoint has one job at a time. It
 * turns the next events into deliveries, sends the due ones, a few at once, oldest first, and ends when none is due. So
 * a dead or slow endpoint delays only itself. After a slow failure the endpoint rests, so that many such endpoints do
 * not occupy all slots. Another job polls for due deliveries: retries, and events that came while the job of their
 * endpoint was ending.
 *
 * An attempt is recorded after the answer. If the process dies in between, the delivery stays due and is sent again with
 * the same `webhook-id`: at least once.
 */

const S = 1000
const MIN = 60 * S
const H = 60 * MIN
/** The delays after each attempt but the last (contract section 5); the first attempt is made at once. */
const RETRY_MS = [5 * S, 5 * MIN, 30 * MIN, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H]
const JITTER = 0.2
const MAX_RETRY_AFTER_MS = 24 * H
const AT_ONCE = 4
/** A job ends after this time, so that endpoints take turns. */
const TURN_MS = 20 * S
const FAN_OUT_TURN_MS = 2 * S
/** A failure that takes longer is slow, because it occupies a slot that others could use. */
const SLOW_MS = 2 * S
const MAX_REST_MS = 60 * S
const SWEEP_EVERY_MS = 2 * S
const SWEEP_LIMIT = 500
/** The maximum of events placed, jobs ordered and events taken in one transaction, which takes 5 to 10 ms on PGlite. */
const PLACED_AT_ONCE = 500
const ORDERED_AT_ONCE = 200
const TAKEN_AT_ONCE = 100
/** Steps in each sweep that remove old and orphaned rows: 10,000 rows a second. */
const CLEARED_STEPS = 20
/** How long an endpoint rests if too many of its deliveries wait for their next attempt. */
const FULL_REST_MS = 10 * S

export function webhookJobs(options: { allowPrivate: boolean; secrets: WebhookSecrets }): JobKind[] {
  const sender = createSender(options)
  const endpoint: JobKind<{ webhookId: string }> = {
    kind: ENDPOINT_JOB,
    slots: 64,
    slotsPerRoot: 16,
    attempts: 20,
    backoffMs: doublingBackoff,
    timeoutMs: 2 * MIN,
    run: context => deliverDue(context, sender, options.secrets),
  }
  const fanOut: JobKind = {
    kind: FAN_OUT_JOB,
    slots: 8,
    slotsPerRoot: 1,
    attempts: 20,
    backoffMs: doublingBackoff,
    timeoutMs: 10 * MIN,
    turnMs: FAN_OUT_TURN_MS,
    run: passEventsOn,
  }
  const sweep: JobKind = {
    kind: 'webhook-sweep',
    slots: 1,
    slotsPerRoot: 1,
    attempts: 20,
    backoffMs: doublingBackoff,
    timeoutMs: MIN,
    everyMs: SWEEP_EVERY_MS,
    async run({ commit }) {
      await commit(tx => orderWhatIsDue(tx, SWEEP_LIMIT))
      for (const step of [clearWebhooks, pruneDeliveries]) {
        let left = CLEARED_STEPS
        while (left-- > 0 && (await commit(step)));
      }
      // It runs so often that its finished jobs would fill the table.
      await commit(tx => tx.query(`DELETE FROM jobs WHERE kind = 'webhook-sweep' AND status = 'done'`))
    },
  }
  return [endpoint as JobKind, fanOut, sweep]
}

async function passEventsOn({ job, signal, commit, passTurn }: JobContext<unknown>): Promise<void> {
  const organizationId = job.organizationId as string
  for (;;) {
    signal.throwIfAborted()
    const { kinds, count } = await commit(tx => placeEvents(tx, organizationId, PLACED_AT_ONCE))
    if (count === 0) return
    let after: string | null = null
    do {
      const page: { after: string | null; limit: number } = { after, limit: ORDERED_AT_ONCE }
      after = await commit(tx => orderDeliveries(tx, organizationId, kinds, page))
    } while (after !== null)
    await passTurn()
  }
}

/** The due deliveries of an endpoint; if there is room it first takes the next events. */
async function listNext(tx: Queryable, organizationId: string, webhookId: string, endpoint: Endpoint) {
  const due = await listDue(tx, webhookId, AT_ONCE)
  if (due.length === AT_ONCE) return due
  const taken = await takeEvents(tx, organizationId, webhookId, endpoint, TAKEN_AT_ONCE)
  if (taken === 0) return due
  if (taken !== 'full') return listDue(tx, webhookId, AT_ONCE)
  if (due.length === 0) await restEndpoint(tx, webhookId, endpoint, FULL_REST_MS)
  return due
}

async function deliverDue(
  context: JobContext<{ webhookId: string }>,
  sender: Sender,
  { open }: WebhookSecrets,
): Promise<void> {
  const { job, signal, commit } = context
  const { webhookId } = job.payload
  const organizationId = job.organizationId as string
  const until = performance.now() + TURN_MS
  while (performance.now() < until) {
    signal.throwIfAborted()
    const { endpoint, due } = await commit(async tx => {
      const endpoint = await findEndpoint(tx, webhookId)
      return { endpoint, due: endpoint ? await listNext(tx, organizationId, webhookId, endpoint) : [] }
    })
    if (!endpoint || due.length === 0) return
    const { url, previous } = endpoint
    const secret = open(endpoint.secret, webhookId)
    const before = previous && open(previous, webhookId)
    const secrets = secret === null ? [] : before ? [secret, before] : [secret]
    const sent = await Promise.all(
      due.map(async delivery => ({
        delivery,
        sent: secret === null ? unsigned() : await sender.send({ ...delivery, url, secrets }, signal),
      })),
    )
    // An attempt that was aborted here says nothing about the receiver.
    signal.throwIfAborted()
    const rests = await commit(async tx => {
      const moved = sent.some(one => one.sent.error !== null) && (await hasMoved(tx, webhookId, url))
      for (const { delivery, sent: attempt } of sent) {
        const { retryAfterMs: _, final: __, ...kept } = attempt
        await recordAttempt(tx, delivery._id, kept, outcomeOf(delivery, attempt, moved))
      }
      if (sent.some(one => one.sent.statusCode === 410)) await disableWebhook(tx, webhookId, url)
      const restMs = restOf(
        endpoint,
        sent.map(one => one.sent),
      )
      const { slowFailures } = endpoint
      if (restMs > 0) return restEndpoint(tx, webhookId, { url, slowFailures: slowFailures + 1 }, restMs)
      if (slowFailures > 0) await restEndpoint(tx, webhookId, { url, slowFailures: 0 }, 0)
      return false
    })
    if (rests) return
  }
}

/** The result of a delivery whose secret was sealed with another `JWT_SECRET`: nothing is sent without a signature. */
const unsigned = (): Sent => ({
  at: new Date(timeOfDay()).toISOString(),
  statusCode: null,
  durationMs: 0,
  response: null,
  error: "The server's own secret has changed, so the webhook's cannot be read. Rotate the webhook's secret.",
  retryAfterMs: null,
  final: false,
})

function outcomeOf({ tries, event }: DueDelivery, { error, retryAfterMs, final }: Sent, moved: boolean) {
  if (error === null) return 'delivered'
  // Somebody watches a test, and asks for another one.
  if (event === TEST_EVENT) return 'failed'
  // The failure of a former address says nothing about the new one.
  if (moved) return { retryMs: RETRY_MS[0] as number }
  const retryMs = RETRY_MS[tries]
  if (final || retryMs === undefined) return 'failed'
  const requestedMs = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)
  return { retryMs: Math.max(retryMs * (1 + Math.random() * JITTER), requestedMs) }
}

/** How long an endpoint rests after all of these attempts were slow and failed. */
function restOf({ slowFailures }: Endpoint, sent: readonly Sent[]): number {
  const slow = sent.every(({ error, durationMs }) => error !== null && durationMs >= SLOW_MS)
  return slow ? Math.min(5 * S * 2 ** slowFailures, MAX_REST_MS) : 0
}
