import { z } from 'zod'
import { CONNECTION_SORTS } from '../../../db/queries/connections.ts'
import { CONNECTION_KINDS, CONNECTION_STATES } from '../../../db/schema/connections.ts'
import { isTopicFilter, isWithinLimits } from '../../../ingest/mqtt/topics.ts'
import { deleted, failures, id, list, pathId, reference, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { setup } from '../devices/schemas.ts'

const PROTOCOLS = new Set(['mqtt:', 'mqtts:', 'ws:', 'wss:'])

/** Whether it is the address of a broker. It holds no user name, which would be shown. */
function isBrokerUrl(text: string): boolean {
  if (!/^[a-z]+:\/\//i.test(text) || /[\s\0]/.test(text) || !URL.canParse(text)) return false
  const { protocol, username, password, hostname, pathname, search, hash } = new URL(text)
  if (!PROTOCOLS.has(protocol) || username !== '' || password !== '' || hostname === '' || hash !== '')
    return false
  return protocol.startsWith('ws') || (/^\/?$/.test(pathname) && search === '')
}

const MAX_TOPICS = 20
/** A chain of certificates, or a company's own authorities. */
const MAX_PEM = 32 * 1024
const pem = z.string().max(MAX_PEM).nullable()
const plain = (max: number) =>
  z
    .string()
    .max(max)
    .refine(value => !value.includes('\0'), 'A text holds no NUL.')

const topics = z
  .array(
    z
      .string()
      .max(512)
      .refine(
        filter => isTopicFilter(filter) && isWithinLimits(filter) && !filter.includes('\0'),
        'This has to be an MQTT topic filter.',
      )
      .meta({ examples: ['trackers/+/up'] }),
  )
  .max(MAX_TOPICS)

const newBroker = z.strictObject({
  url: z
    .string()
    .max(500)
    .refine(
      isBrokerUrl,
      'This has to be an address that begins with mqtt, mqtts, ws or wss, without a user name.',
    )
    .meta({ examples: ['mqtts://broker.example.com:8883'] }),
  username: plain(500)
    .nullable()
    .default(null)
    .meta({ examples: ['fieldline'] }),
  password: plain(2_000)
    .nullable()
    .optional()
    .describe('Stored sealed, never answered. Left out of a change it stays')
    .meta({ examples: ['secret'] }),
  clientId: plain(256)
    .min(1)
    .nullable()
    .default(null)
    .describe('Null is one of our own choice')
    .meta({ examples: ['fieldline-1'] }),
  topics: topics.default([]).describe('What to subscribe to; none is the filter of the profile'),
  caCertificate: pem
    .default(null)
    .describe('PEM; null is the authorities that everybody knows')
    .meta({ examples: [null] }),
  clientCertificate: pem
    .default(null)
    .describe('PEM')
    .meta({ examples: [null] }),
  clientKey: pem
    .optional()
    .describe(
      'PEM, the key of the client certificate. Stored sealed, never answered. Left out of a change it stays',
    )
    .meta({ examples: [null] }),
})
export type NewBroker = z.infer<typeof newBroker>

const broker = z.object({
  url: text('mqtts://broker.example.com:8883'),
  username: text('fieldline').nullable(),
  clientId: text('fieldline-1').nullable(),
  topics: z.array(text('trackers/+/up')),
  caCertificate: z.string().nullable(),
  clientCertificate: z.string().nullable(),
})

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const fields = {
  name: newName(200).meta({ examples: ['LoRaWAN network'] }),
  profileId: reference
    .describe('How its messages are read: the name of a built-in profile, or an identifier')
    .meta({ examples: ['ttn'] }),
  hubId: reference.nullable().describe('The hub of the devices that it creates'),
  createDevices: z
    .boolean()
    .describe('Whether a reference that no device has becomes a device, at most 1,000 an hour'),
  isActive: z.boolean(),
  headerName: z
    .string()
    .max(64)
    .regex(HEADER, 'This has to be the name of a header.')
    .nullable()
    .describe('Only for `http`: a header that may hold the key')
    .meta({ examples: ['x-api-key'] }),
}

const newConnection = z.strictObject({
  ...fields,
  kind: z.enum(CONNECTION_KINDS).meta({ examples: ['http'] }),
  hubId: fields.hubId.default(null),
  createDevices: fields.createDevices.default(false),
  isActive: fields.isActive.default(true).meta({ examples: [true] }),
  headerName: fields.headerName.default(null),
  broker: newBroker
    .nullable()
    .default(null)
    .describe('Only for `broker`')
    .meta({ examples: [null] }),
})

const count = z.int().meta({ examples: [0] })
const connection = z.object({
  _id: id,
  name: text('LoRaWAN network'),
  kind: z.enum(CONNECTION_KINDS),
  profileId: text('ttn'),
  hubId: id.nullable(),
  createDevices: z.boolean(),
  isActive: z.boolean(),
  headerName: text('x-api-key').nullable(),
  broker: broker.nullable(),
  state: z
    .enum(CONNECTION_STATES)
    .describe('`connecting`: waits for the broker, or for the first message; `failed`: `lastError` says why'),
  lastMessageAt: z.date().nullable(),
  messagesPerMinute: z
    .int()
    .describe('In the last minute')
    .meta({ examples: [12] }),
  lastError: text('The broker refuses the user name or the password.')
    .nullable()
    .describe('What went wrong, in a sentence; null while it is well'),
  counts: z
    .object({ messages: count, points: count, skipped: count, rejected: count, unknown: count })
    .describe(
      'Messages, their points, messages without a position by design, what was rejected, and of that from unknown references',
    ),
  createdAt: z.date(),
  updatedAt: z.date(),
})
const connectionWithKey = connection.extend({
  key: text('flc_…').describe('The key that senders sign in with. Shown once'),
})

const point = z.object({
  lat: z.number(),
  lng: z.number(),
  timestamp: z.date(),
  speed: z.number().nullable(),
  heading: z.number().nullable(),
  accuracy: z.number().nullable(),
  altitude: z.number().nullable(),
  battery: z.number().nullable(),
})
const unknownReference = z.object({
  reference: text('70B3D57ED0000001'),
  messages: z.int(),
  lastMessageAt: z.date(),
  lastPoint: point.nullable().describe('Null for whoever does not see the positions of all'),
})
const adopted = z.object({
  reference: text('70B3D57ED0000001'),
  deviceId: id,
  points: z.int().describe('Kept points that are on their way to its history'),
})
const message = z.object({
  _id: id,
  receivedAt: z.date(),
  topic: text('v3/app@tenant/devices/eui-1/up').nullable(),
  clientId: text('bridge').nullable(),
  query: z.record(z.string(), z.unknown()).nullable(),
  payload: text('{"lat": 52.52}')
    .nullable()
    .describe('As it came, its first 8 KiB; null, as `query`, for whoever does not see the positions of all'),
  isCut: z.boolean().describe('Whether the payload was longer'),
  outcome: z.object({
    points: z.int(),
    skipped: text('A join request has no position.').nullable().describe('Why it has no position by design'),
    rejected: z.array(z.object({ reason: text('unknown-device'), message: z.string() })),
  }),
})

nameSchemas({
  Connection: connection,
  ConnectionWithKey: connectionWithKey,
  NewConnection: newConnection,
  Broker: broker,
  NewBroker: newBroker,
  ConnectionCounts: connection.shape.counts,
  UnknownReference: unknownReference,
  UnknownPoint: point,
  AdoptedReference: adopted,
  ConnectionMessage: message,
  MessageOutcome: message.shape.outcome,
  MessageRejection: message.shape.outcome.shape.rejected.element,
})

const tags = ['Connections']
const params = z.object({ id: pathId })

export const listConnections = operation({
  access: 'view/connection',
  tags,
  summary: 'The connections of the organization',
  description: `Ways in for many trackers with formats of their own. Those of the caller's hubs and of none.`,
  querystring: listQuery(CONNECTION_SORTS, 'name'),
  response: { 200: list(connection) },
})

export const getConnection = operation({
  access: 'view/connection',
  tags,
  summary: 'A connection',
  description: 'With its state, and what it has received so far.',
  params,
  response: { 200: success(connection) },
})

export const getConnectionSetup = operation({
  access: 'view/connection',
  tags,
  summary: 'The settings that make a platform send through a connection',
  description: `First those of the platform of its profile, by the labels of that platform's page. \`CONNECTION_KEY\` stands for the key. A
connection of the kind \`broker\` needs none.`,
  params,
  response: { 200: success(z.array(setup)) },
})

export const createConnection = operation(
  {
    access: 'create/connection',
    tags,
    summary: 'Create a connection',
    description: `\`http\` takes requests at \`/ingest/connection/{id}\`, \`mqtt\` clients at our MQTT port, and for \`broker\` we subscribe to
another broker. Answers its key, once; a broker's key opens nothing.`,
    body: newConnection,
    response: { 201: success(connectionWithKey) },
  },
  { answersSecret: true },
)

export const updateConnection = operation({
  access: 'update/connection',
  tags,
  summary: 'Change a connection',
  description: `Fields that are left out stay as they are, also those of \`broker\`; its kind does not change. Where the broker's address
changes, its secrets are given again, so that no other server is sent them.`,
  params,
  body: z
    .strictObject({
      ...fields,
      broker: newBroker
        .extend({
          username: newBroker.shape.username.unwrap(),
          clientId: newBroker.shape.clientId.unwrap(),
          topics,
          caCertificate: pem,
          clientCertificate: pem,
        })
        .partial(),
    })
    .partial(),
  response: { 200: success(connection) },
})

export const rotateKey = operation(
  {
    access: 'update/connection',
    tags,
    summary: 'Rotate the key of a connection',
    description: 'Who signed in with the old one is disconnected within a second. Answers the new key, once.',
    params,
    response: { 200: success(connectionWithKey) },
  },
  { answersSecret: true },
)

export const deleteConnection = operation({
  access: 'delete/connection',
  tags,
  summary: 'Delete a connection',
  description: 'What is connected is disconnected within a second. Devices and their history stay.',
  params,
  response: { 200: deleted },
})

export const listUnknown = operation({
  access: 'view/connection',
  tags,
  summary: 'References that no device has',
  description: 'The newest 1,000 that sent messages to the connection in the last 30 days.',
  params,
  response: { 200: list(unknownReference) },
})

export const adopt = operation({
  access: 'update/connection',
  tags,
  summary: 'Create devices for unknown references',
  description: `Each reference becomes a device of that name in the connection's hub, and its kept points (the newest 100) go to its history.
A reference of which nothing is kept any more is left out of the answer; 400 if that is true of all of them. Needs \`create/device\` as well.`,
  params,
  body: z.strictObject({
    references: z
      .array(z.string().min(1).max(128))
      .min(1)
      .max(500)
      .meta({ examples: [['70B3D57ED0000001']] }),
  }),
  response: { 200: success(z.array(adopted)), ...failures(409) },
})

export const listMessages = operation({
  access: 'view/connection',
  tags,
  summary: 'The last 50 messages of a connection',
  description: 'As they came, each with what became of it, newest first.',
  params,
  response: { 200: list(message) },
})
