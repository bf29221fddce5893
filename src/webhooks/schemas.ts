import { z } from 'zod'
import { DELIVERY_STATUSES, type Delivery } from '../../db/queries/webhook-deliveries.ts'
import { WEBHOOK_EVENTS, WEBHOOK_STATUSES } from '../../db/queries/webhooks.ts'
import type { DataAccess } from '../data/access.ts'
import { id } from '../envelope.ts'

const events = z.array(z.enum(WEBHOOK_EVENTS))

export const newWebhook = z.strictObject({
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

export const webhook = z.object({
  _id: id,
  url: z.string(),
  events,
  description: z.string(),
  status: z.enum(WEBHOOK_STATUSES),
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const webhookWithSecret = webhook.extend({
  secret: z
    .string()
    .describe('Signs what is delivered; shown once')
    .meta({ examples: ['whsec_…'] }),
})

export const delivery = z.object({
  _id: id,
  webhookId: id,
  messageId: z.string().describe('What stands in the header webhook-id'),
  event: z.enum(WEBHOOK_EVENTS),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.array(
    z.object({
      at: z.string(),
      statusCode: z.int().nullable(),
      durationMs: z.number(),
      response: z.string().nullable().describe('The first 1,024 bytes of the answer'),
      error: z.string().nullable(),
    }),
  ),
  nextAttemptAt: z.date().nullable(),
  payload: z.record(z.string(), z.unknown()),
  createdAt: z.date(),
})

/** A delivery as the caller sees it. An answer may repeat what it was sent, so it is hidden where a field is. */
export function presentDelivery(found: Delivery, access: DataAccess) {
  const { dataTypeId, attempts, ...rest } = found
  const sent = JSON.parse(found.payload) as { [key: string]: unknown }
  const payload = access.visible(dataTypeId, sent)
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
