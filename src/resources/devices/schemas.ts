import { z } from 'zod'
import { foldReference } from '../../../db/queries/device-references.ts'
import { DEVICE_SORTS } from '../../../db/queries/devices.ts'
import {
  deleted,
  failures,
  id,
  isSample,
  list,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const device = z.object({
  _id: id,
  name: text('Van 12'),
  vehicleId: id.nullable().describe('The vehicle that it is mounted on'),
  hubId: id.nullable(),
  profileId: text('teltonika')
    .nullable()
    .describe(
      'The profile that reads its messages: a built-in one by its name; null for the topics of Fieldline alone',
    ),
  references: z.array(text('352093081452251')).describe('What others call it'),
  certificateExpiresAt: z.date().nullable().describe('Null: it has no certificate'),
  lastSeenAt: z.date().nullable().describe('When it last said anything, to about a minute'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const deviceWithKey = device.extend({
  key: text('fld_…').describe('The key that the device signs in with. Shown once'),
})

const name = newName(200).meta({ examples: ['Van 12'] })
const references = z
  .array(z.string().trim().min(1).max(128))
  .max(8)
  .refine(
    all => new Set(all.map(foldReference)).size === all.length,
    'The same reference occurs twice, regardless of case.',
  )
  .describe(
    'What others call it: an IMEI, a DevEUI, an identifier of another system. Each is unique in the organization, regardless of case',
  )
  .meta({ examples: [[]] })

const newDevice = z.strictObject({
  name,
  vehicleId: reference.nullable().optional(),
  hubId: reference.nullable().optional(),
  profileId: reference
    .nullable()
    .optional()
    .describe(
      'The profile that reads its messages; with its key it may then publish to every topic that the profile takes',
    )
    .meta({ examples: ['teltonika'] }),
  references: references.optional(),
})

nameSchemas({ Device: device, DeviceWithKey: deviceWithKey, NewDevice: newDevice })

const tags = ['Devices']
const params = z.object({ id: pathId })

export const listDevices = operation({
  access: 'view/device',
  tags,
  summary: 'The devices of the organization',
  description: `Those of the caller's hubs and of none, newest first; Owner and Admin see every one.`,
  querystring: listQuery(DEVICE_SORTS, '-createdAt').extend({
    hubId: z
      .string()
      .optional()
      .describe('Hubs, separated by commas: that of its vehicle while it is mounted, else its own'),
    vehicleId: z.string().optional().describe('Vehicles, separated by commas'),
  }),
  response: { 200: list(device) },
})

export const getDevice = operation({
  access: 'view/device',
  tags,
  summary: 'A device',
  description: 'With the vehicle that it is mounted on, and when it was last heard of.',
  params,
  response: { 200: success(device) },
})

export const createDevice = operation(
  {
    access: 'create/device',
    tags,
    summary: 'Create a device',
    description: 'Answers the key that it publishes with, once.',
    body: newDevice,
    response: { 201: success(deviceWithKey), ...failures(409) },
  },
  { answersSecret: true },
)

export const updateDevice = operation({
  access: 'update/device',
  tags,
  summary: 'Change a device',
  description:
    'Its name, its hub, the profile that reads its messages (open connections follow within a second), what others call it, or the vehicle that it is mounted on from now on. A device is on one vehicle at the most and a vehicle has one device: what was mounted there before is taken off.',
  params,
  body: newDevice
    .extend({
      certificate: z
        .string()
        .max(16 * 1024)
        .nullable()
        .describe('PEM: over TLS a client that shows it is this device, without a password. Null removes it')
        .meta({ examples: [null] }),
    })
    .partial(),
  response: { 200: success(device), ...failures(409) },
})

export const rotateKey = operation(
  {
    access: 'update/device',
    tags,
    summary: 'Rotate the key of a device',
    description: 'Its connections are closed within a second. Answers the new key, once.',
    params,
    response: { 200: success(deviceWithKey) },
  },
  { answersSecret: true },
)

export const deleteDevice = operation({
  access: 'delete/device',
  tags,
  summary: 'Delete a device',
  description:
    'Its connections are closed within a second. Its history stays, and its identifier is not used again.',
  params,
  response: { 200: deleted },
})

export const setup = z.object({
  app: text('Overland'),
  steps: z
    .array(z.object({ label: text('Access token'), value: text('DEVICE_KEY') }))
    .describe('The values to enter, by the labels of the app'),
  url: text('overland://setup?url=https%3A%2F%2Fexample.com%2Fapi%2Fv3%2Fingest%2Foverland&token=DEVICE_KEY')
    .optional()
    .describe('A link to open on the phone instead, also as a QR code'),
})

nameSchemas({ AppSetup: setup, AppSetupStep: setup.shape.steps.element })

export const getSetup = operation({
  access: 'view/device',
  tags,
  summary: 'The settings that make an app this device',
  description: `For each app that sends here over HTTP or MQTT, with the host and port that the caller has reached.
\`DEVICE_KEY\` stands for the key, which was shown when the device was created or its key rotated.`,
  params,
  response: { 200: success(z.array(setup)) },
})
