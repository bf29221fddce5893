import type { WebhookEvent } from '../../../db/schema/webhooks.ts'

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
  example,
})

const DELIVERY = `Signed as the Standard Webhooks specification says. Answer with any 2xx within 15 seconds; everything
else is tried again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, with the same \`webhook-id\`. 410
disables the webhook. Redirects are not followed.`

interface Event {
  name: WebhookEvent
  summary: string
  /** The description of the body. */
  description: string
  schema: { type: 'object'; properties: object; required?: string[]; additionalProperties?: boolean }
  example: object
}

const describe = ({ name, summary, description, schema, example }: Event, security: { security?: [] }) => ({
  post: {
    operationId: name,
    tags: ['Events'],
    summary,
    description: `${description} ${DELIVERY}`,
    ...security,
    parameters: [
      header('webhook-id', 'The same for every attempt', 'msg_0190aaaa-0000-7000-8000-000000000000'),
      header('webhook-timestamp', 'When the attempt was made, in seconds since 1970', '1795222800'),
      header(
        'webhook-signature',
        'v1 and the HMAC-SHA256 of id.timestamp.body; two, with a space between, while a secret is rotated',
        'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      ),
      header('webhook-event', 'The name of the event', name),
    ],
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses: {
      '2XX': { description: 'Received' },
      '410': { description: 'No longer wanted: the webhook is disabled' },
    },
  },
})

const text = { type: 'string' as const }
const identifier = { ...text, format: 'uuid' }
const time = { ...text, format: 'date-time' }

const crossing = (name: 'geofence-entered' | 'geofence-left', summary: string): Event => {
  const properties = {
    _id: identifier,
    geofenceId: identifier,
    subjectId: identifier,
    subjectType: { ...text, enum: ['user', 'device'] },
    event: { ...text, const: name.replace('geofence-', '') },
    at: time,
    lat: { type: 'number' },
    lng: { type: 'number' },
    retracted: { type: 'boolean' },
    createdAt: time,
    updatedAt: time,
  }
  return {
    name,
    summary,
    description: `The body is the event as \`GET /geofence-events\` shows it. Where late points show that it did not happen it is
sent again with the same \`_id\` and \`retracted: true\`, and where it did after all with false: of several, the one with the
newest \`updatedAt\` holds.`,
    schema: { type: 'object', properties, required: Object.keys(properties) },
    example: {
      _id: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70',
      geofenceId: '019aa3c0-0000-7d4a-9f10-2b3c4d5e6f70',
      subjectId: '019aa3c0-1111-7d4a-9f10-2b3c4d5e6f70',
      subjectType: 'device',
      event: name.replace('geofence-', ''),
      at: '2026-11-21T10:00:00.000Z',
      lat: 52.52,
      lng: 13.405,
      retracted: false,
      createdAt: '2026-11-21T10:00:02.000Z',
      updatedAt: '2026-11-21T10:00:02.000Z',
    },
  }
}

const COMMAND = {
  _id: identifier,
  deviceId: identifier,
  name: text,
  payload: {},
  state: { ...text, enum: ['done', 'failed', 'expired'] },
  result: {},
  expiresAt: time,
  sentAt: { type: ['string', 'null'], format: 'date-time' },
  receivedAt: { type: ['string', 'null'], format: 'date-time' },
  finishedAt: time,
  createdAt: time,
  updatedAt: time,
}

const EVENTS: readonly Event[] = [
  {
    name: 'data-source-created',
    summary: 'A new data source record is created',
    description: `The body is the record's fields as its data type defines them, and nothing else; a field without a
value is absent.`,
    schema: { type: 'object', properties: { name: text, phone: text }, additionalProperties: true },
    example: { name: 'Acme', phone: '+49 30 1234567' },
  },
  crossing('geofence-entered', 'A subject has entered a geofence'),
  crossing('geofence-left', 'A subject has left a geofence'),
  {
    name: 'command-finished',
    summary: 'A command to a device is done, has failed or has expired',
    description: 'The body is the command as `GET /device/{id}/commands` shows it.',
    schema: { type: 'object', properties: COMMAND, required: Object.keys(COMMAND) },
    example: {
      _id: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70',
      deviceId: '019aa3c0-1111-7d4a-9f10-2b3c4d5e6f70',
      name: 'reportLocation',
      payload: { intervalSeconds: 30 },
      state: 'done',
      result: { intervalSeconds: 30 },
      expiresAt: '2026-11-22T10:00:00.000Z',
      sentAt: '2026-11-21T10:00:00.100Z',
      receivedAt: '2026-11-21T10:00:00.200Z',
      finishedAt: '2026-11-21T10:00:01.000Z',
      createdAt: '2026-11-21T10:00:00.000Z',
      updatedAt: '2026-11-21T10:00:01.000Z',
    },
  },
]

/**
 * The events, as OpenAPI describes webhooks; `security` for a document that would otherwise require a token for them.
 */
export const describeEvents = (security: { security?: [] } = {}) =>
  Object.fromEntries(EVENTS.map(event => [event.name, describe(event, security)]))

/** Specification section 6: a separate document. */
export const eventsDocument = {
  openapi: '3.1.0',
  info: { title: 'Webhooks', version: '1.0.0' },
  webhooks: describeEvents(),
}
