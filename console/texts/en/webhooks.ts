import type { components } from '../../api/interface.d.ts'

type Schemas = components['schemas']
type Event = Schemas['Webhook']['events'][number]

/** The texts of webhooks, which are loaded with them. */
export const webhookTexts = {
  create: 'Create webhook',
  url: 'Address',
  urlHint: 'An https address that answers with a status of 200 to 299 within 15 seconds.',
  description: 'Description',
  events: 'Events',
  status: 'Status',
  statuses: { active: 'Active', disabled: 'Disabled' } satisfies Record<Schemas['Webhook']['status'], string>,
  eventNames: {
    'data-source-created': 'A data record is created',
    'geofence-entered': 'A subject enters a geofence',
    'geofence-left': 'A subject leaves a geofence',
    'command-finished': 'A command to a device ends',
  } satisfies Record<Event, string>,
  testEvent: 'A test',
  test: 'Send a test',
  none: 'No webhooks yet',
  noneHint: 'A webhook sends each event to an address of yours, signed, and again until it is received.',
  deliveriesOf: (url: string) => `Deliveries to ${url}`,
  all: 'All webhooks',
  edit: 'Edit webhook',
  deleteAsk: (url: string) =>
    `Delete the webhook to ${url}? Waiting messages are not sent, and its deliveries are deleted.`,
  rotate: 'New secret',
  rotateAsk: 'Create a new secret? The present one also signs for 24 hours.',
  secret: 'Secret',
  secretTitle: 'The secret of this webhook',
  secretLead: 'Your receiver needs it to verify that a message comes from here. It is shown only now.',
  verify: 'Verify the signature',
  verifyLead:
    'The signature covers webhook-id, webhook-timestamp and the exact bytes of the body. While a secret is rotated there are two signatures: one that fits is enough.',
  language: 'Language',
  code: 'the code',
  deliveryStatuses: {
    pending: 'Waiting',
    delivered: 'Delivered',
    failed: 'Failed',
  } satisfies Record<Schemas['WebhookDelivery']['status'], string>,
  anyStatus: 'All',
  noDeliveries: 'Nothing was sent yet',
  noneOfStatus: 'No deliveries with this status',
  created: 'Created',
  event: 'Event',
  attempts: 'Attempts',
  next: 'Next attempt',
  answer: 'Last answer',
  noAnswer: 'no answer',
  request: 'What is sent',
  attempt: (n: number) => `Attempt ${n}`,
  took: (ms: string) => `${ms} ms`,
  response: 'Answer (its first 1,024 bytes)',
  redeliver: 'Send again',
  redelivered: 'It is sent again, with the same webhook-id.',
}

export type WebhookTexts = typeof webhookTexts
