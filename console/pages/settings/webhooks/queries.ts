import { answered, api } from '../../../api/client.ts'
import type { components } from '../../../api/interface.d.ts'
import type { PageQuery } from '../../../parts/use-list.ts'
import type { WebhookTexts } from '../../../texts/en/webhooks.ts'

export type Webhook = components['schemas']['Webhook']
export type Delivery = components['schemas']['WebhookDelivery']

export const path = (id: string) => ({ params: { path: { id } } })

export const readWebhook = async (id: string) =>
  (await answered(api.GET('/api/v3/webhook/{id}', path(id)))).data

export const readWebhooks = (
  query: PageQuery & { sort: 'createdAt' | '-createdAt' | 'url' | '-url' },
  signal: AbortSignal,
) => answered(api.GET('/api/v3/webhooks', { params: { query }, signal }))

export const readDeliveries = (
  id: string,
  query: PageQuery & { status?: Delivery['status'] },
  signal: AbortSignal,
) => answered(api.GET('/api/v3/webhook/{id}/deliveries', { params: { path: { id }, query }, signal }))

/** The event of a delivery in words. Somebody asks for a test; nobody subscribes to it. */
export const nameEvent = (t: WebhookTexts, { event }: Delivery): string =>
  event === 'webhook-test' ? t.testEvent : (t.eventNames[event] ?? event)

export const sendTest = async (id: string) =>
  (await answered(api.POST('/api/v3/webhook/{id}/test', path(id)))).data
