import { z } from 'zod'
import {
  COMMAND_SORTS,
  MAX_QUEUED_OF_DEVICE,
  MAX_QUEUED_OF_ORGANIZATION,
} from '../../../db/queries/commands.ts'
import { COMMAND_STATES } from '../../../db/schema/commands.ts'
import { anyValue, deleted, failures, id, list, pathId, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const DAY_S = 24 * 3600
const MAX_EXPIRY_S = 7 * DAY_S
/** Small devices read a whole message at once. */
export const MAX_PAYLOAD_BYTES = 8 * 1024

const command = z.object({
  _id: id,
  deviceId: id,
  name: text('reportLocation'),
  payload: anyValue,
  state: z
    .enum(COMMAND_STATES)
    .describe(
      '`queued`: waits for the device; `sent`: handed over; `received`: the device has acknowledged it; `done` or `failed`: as the device answered, with its `result`; `expired`: its time ended before that',
    ),
  result: anyValue,
  expiresAt: z.date(),
  sentAt: z.date().nullable(),
  receivedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
})

const newCommand = z.strictObject({
  name: newName(100).meta({ examples: ['reportLocation'] }),
  payload: anyValue.default(null),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(MAX_EXPIRY_S)
    .default(DAY_S)
    .describe('The device gets it until then, and has to answer until then'),
})

nameSchemas({ Command: command, NewCommand: newCommand })

const tags = ['Devices']
const params = z.object({ id: pathId })
const BOUNDS = `${MAX_QUEUED_OF_DEVICE} commands of a device and ${MAX_QUEUED_OF_ORGANIZATION.toLocaleString('en')} of an organization wait to be sent; the next one is 409.`

export const createCommand = operation({
  access: 'create/command',
  tags,
  summary: 'Send a command to a device',
  description: `It goes over MQTT with QoS 1 to \`devices/{id}/commands\`, at once if the device is subscribed there, else when it subscribes.
The device answers on \`devices/{id}/commands/{commandId}\` with \`{ "status": "done" | "failed", "result" }\`.
The payload is any JSON value of at most ${MAX_PAYLOAD_BYTES.toLocaleString('en')} bytes. ${BOUNDS}`,
  params,
  body: newCommand,
  response: { 201: success(command), ...failures(409) },
})

export const listCommands = operation({
  access: 'view/command',
  tags,
  summary: 'The commands of a device',
  description: 'Newest first; kept for 30 days after their end.',
  params,
  querystring: listQuery(COMMAND_SORTS, '-createdAt').extend({ state: z.enum(COMMAND_STATES).optional() }),
  response: { 200: list(command) },
})

export const deleteCommand = operation({
  access: 'create/command',
  tags,
  summary: 'Withdraw a command',
  description: 'As long as it is queued; once it was sent, or has expired, it is 409.',
  params: params.extend({ commandId: pathId }),
  response: { 200: deleted, ...failures(409) },
})
