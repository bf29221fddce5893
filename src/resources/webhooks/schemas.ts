import { z } from 'zod'
import { DELIVERY_SORTS, type Delivery } from '../../../db/queries/webhook-deliveries.ts'
import { TEST_EVERY_S, WEBHOOK_SORTS } from '../../../db/queries/webhooks.ts'
import {
  DELIVERED_EVENTS,
  DELIVERY_STATUSES,
  WEBHOOK_EVENTS,
  WEBHOOK_STATUSES,
} from '../../../db/schema/webhooks.ts'
import { deleted, failures, id, list, pathId, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import type { DataAccess } from '../data/access.ts'

const events = z.array(z.enum(WEBHOOK_EVENTS))

const newWebhook = z.strictObject({
  url: z
    .string()
    .max(2_000)
    .refine(isEndpoint, 'This has to be an http or https address without a user name.')
    .meta({ examples: ['https://example.com/hooks'] }),
  events: events.min(1).transform(names => [...new Set(names)]),
  description: z
    .string()
    .max(500)
    .default('')
    .refine(text => !text.includes('\0'), 'A text holds no NUL.'),
  status: z.enum(WEBHOOK_STATUSES).default('active'),
})

const webhook = z.object({
  _id: id,
  url: text('https://example.com/hooks'),
  events,
  description: text('To the warehouse'),
  status: z.enum(WEBHOOK_STATUSES),
  createdAt: z.date(),
  updatedAt: z.date(),
})

const webhookWithSecret = webhook.extend({
  secret: text('whsec_…').describe('Signs the deliveries. Shown once'),
})

const delivery = z.object({
  _id: id,
  webhookId: id,
  messageId: z.string().describe('The value of the header webhook-id'),
  event: z.enum(DELIVERED_EVENTS).describe('`webhook-test` is a test, which is tried once'),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.array(
    z.object({
      at: text('2026-11-21T10:00:00.000Z'),
      statusCode: z.int().nullable(),
      durationMs: z.number(),
      response: text('Too busy').nullable().describe('The first 1,024 bytes of the answer'),
      error: text('The receiver answered 500').nullable(),
    }),
  ),
  nextAttemptAt: z.date().nullable(),
  payload: z.record(z.string(), z.unknown()),
  createdAt: z.date(),
})

/**
 * A delivery as the caller sees it. An answer may repeat the request, so it is hidden if a field is hidden. Crossings and
 * commands are only shown to callers who may see all of them.
 */
export function presentDelivery(
  found: Delivery,
  access: DataAccess,
  seesAll: (event: Delivery['event']) => boolean,
) {
  const { dataTypeId, attempts, ...rest } = found
  const sent = JSON.parse(found.payload) as { [key: string]: unknown }
  const payload = dataTypeId ? access.visible(dataTypeId, sent) : seesAll(found.event) ? sent : {}
  const hidden = access.restrictsAnything || Object.keys(payload).length < Object.keys(sent).length
  return {
    ...rest,
    payload,
    attempts: attempts.map(attempt => (hidden ? { ...attempt, response: null } : attempt)),
  }
}

function isEndpoint(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || /[\s\0]/.test(text)) return false
  try {
    const { username, password } = new URL(text)
    return username === '' && password === ''
  } catch {
    return false
  }
}

nameSchemas({
  NewWebhook: newWebhook,
  Webhook: webhook,
  WebhookWithSecret: webhookWithSecret,
  WebhookDelivery: delivery,
  DeliveryAttempt: delivery.shape.attempts.element,
})

const tags = ['Webhooks']
const params = z.object({ id: pathId })

export const listWebhooks = operation({
  access: 'view/webhook',
  tags,
  summary: 'The webhooks of the organization',
  description: 'Where events are sent.',
  querystring: listQuery(WEBHOOK_SORTS, 'createdAt'),
  response: { 200: list(webhook) },
})

export const getWebhook = operation({
  access: 'view/webhook',
  tags,
  summary: 'A webhook',
  description: 'Its secret is shown only when it is created or rotated.',
  params,
  response: { 200: success(webhook) },
})

export const createWebhook = operation(
  {
    access: 'create/webhook',
    tags,
    summary: 'Create a webhook',
    description: `Its \`secret\` is shown once. A delivery to a private, loopback or link-local address fails. A webhook
is sent every field of every record, so this needs an unrestricted \`view/data\` beside \`create/webhook\`.`,
    body: newWebhook,
    response: { 201: success(webhookWithSecret) },
  },
  { answersSecret: true },
)

export const replaceWebhook = operation({
  access: 'update/webhook',
  tags,
  summary: 'Replace a webhook',
  description:
    'The secret stays. What still waits for one that is disabled fails, and may be redelivered later.',
  params,
  body: newWebhook,
  response: { 200: success(webhook) },
})

export const deleteWebhook = operation({
  access: 'delete/webhook',
  tags,
  summary: 'Delete a webhook',
  description: 'With its deliveries; waiting messages are not sent.',
  params,
  response: { 200: deleted },
})

export const rotateSecret = operation(
  {
    access: 'update/webhook',
    tags,
    summary: 'Rotate the secret of a webhook',
    description: 'The previous one also signs for 24 hours, so that a receiver can change over.',
    params,
    response: { 200: success(webhookWithSecret) },
  },
  { answersSecret: true },
)

export const listDeliveries = operation({
  access: 'view/webhook',
  tags,
  summary: 'The messages that were sent to a webhook, or are waiting',
  description: `Newest first, kept for 30 days after the end. Fields that the role restricts are left out of the
payload, and then the answers of the receiver too, since they may repeat them.`,
  params,
  querystring: listQuery(DELIVERY_SORTS, '-createdAt').extend({
    status: z.enum(DELIVERY_STATUSES).optional(),
  }),
  response: { 200: list(delivery) },
})

export const testWebhook = operation({
  access: 'update/webhook',
  tags,
  summary: 'Send a test to a webhook',
  description: `A signed message of the event \`webhook-test\` with a \`webhook-id\` of its own, whichever events the webhook subscribes
to. There is one attempt; it stands among the deliveries. 409 for a disabled webhook, and 429 for the next ${TEST_EVERY_S} seconds.`,
  params,
  response: { 202: success(delivery), ...failures(409, 429) },
})

export const redeliver = operation({
  access: 'update/webhook',
  tags,
  summary: 'Send something again',
  description: 'With the same `webhook-id`, also what was delivered already.',
  params,
  response: { 202: success(delivery), ...failures(409) },
})
