import { z } from 'zod'
import { DEVICE_SORTS } from '../../../db/queries/devices.ts'
import { deleted, id, isSample, list, pathId, reference, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const device = z.object({
  _id: id,
  name: text('Van 12'),
  vehicleId: id.nullable().describe('The vehicle that it is mounted on'),
  hubId: id.nullable(),
  lastSeenAt: z.date().nullable().describe('When it last said anything, to about a minute'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const deviceWithKey = device.extend({
  key: text('fld_…').describe('The key that the device signs in with. Shown once'),
})

const name = newName(200).meta({ examples: ['Van 12'] })
const newDevice = z.strictObject({
  name,
  vehicleId: reference.nullable().optional(),
  hubId: reference.nullable().optional(),
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
    hubId: z.string().optional().describe('Hubs, separated by commas'),
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

export const createDevice = operation({
  access: 'create/device',
  tags,
  summary: 'Create a device',
  description: 'Answers the key that it publishes with, once.',
  body: newDevice,
  response: { 201: success(deviceWithKey) },
})

export const updateDevice = operation({
  access: 'update/device',
  tags,
  summary: 'Change a device',
  description:
    'Its name, its hub, or the vehicle that it is mounted on from now on. A device is on one vehicle at the most and a vehicle has one device: what was mounted there before is taken off.',
  params,
  body: newDevice.partial(),
  response: { 200: success(device) },
})

export const rotateKey = operation({
  access: 'update/device',
  tags,
  summary: 'Rotate the key of a device',
  description: 'Its connections are closed within a second. Answers the new key, once.',
  params,
  response: { 200: success(deviceWithKey) },
})

export const deleteDevice = operation({
  access: 'delete/device',
  tags,
  summary: 'Delete a device',
  description:
    'Its connections are closed within a second. Its history stays, and its identifier is not used again.',
  params,
  response: { 200: deleted },
})

const setup = z.object({
  app: text('Overland'),
  steps: z
    .array(z.object({ label: text('Access token'), value: text('DEVICE_KEY') }))
    .describe('What to enter, by what the app calls it'),
  url: text('overland://setup?url=https%3A%2F%2Fexample.com%2Fapi%2Fv3%2Fingest%2Foverland&token=DEVICE_KEY')
    .optional()
    .describe('What to open on the phone instead, as a link or a QR code'),
})

nameSchemas({ AppSetup: setup, AppSetupStep: setup.shape.steps.element })

export const getSetup = operation({
  access: 'view/device',
  tags,
  summary: 'What to enter in an app to make it this device',
  description: `For each app that sends here over HTTP or MQTT, with the host and port that the caller has reached.
\`DEVICE_KEY\` stands for the key, which was shown when the device was created or its key rotated.`,
  params,
  response: { 200: success(z.array(setup)) },
})
