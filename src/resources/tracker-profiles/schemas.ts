import { z } from 'zod'
import { TRACKER_PROFILE_SORTS } from '../../../db/queries/tracker-profiles.ts'
import { anyValue, deleted, failures, id, list, reference, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { checkChoices, choiceFields, shownChoices } from './choices.ts'

const MAX_SAMPLES = 20
const SAMPLE_BYTES = 64 * 1024
const MAX_MESSAGES = 100

const message = z
  .strictObject({
    topic: z
      .string()
      .max(1_000)
      .nullable()
      .default(null)
      .meta({ examples: ['trackers/352093081452251/position'] }),
    payload: anyValue.meta({
      examples: [{ lat: 52.52, lon: 13.405, time: 1795164850, speed: 43 }],
    }),
    clientId: z
      .string()
      .max(256)
      .nullable()
      .default(null)
      .meta({ examples: [null] }),
    query: z
      .record(z.string(), z.unknown())
      .nullable()
      .default(null)
      .meta({ examples: [null] }),
  })
  .describe('A message as it came. A text as its payload is taken as its bytes, anything else as JSON')

const isSmall = (messages: unknown) => JSON.stringify(messages).length <= SAMPLE_BYTES

const newFields = {
  name: newName(100).meta({ examples: ['Pallet trackers'] }),
  ...choiceFields,
  sampleMessages: z
    .array(message)
    .max(MAX_SAMPLES)
    .refine(isSmall, `Sample messages have at most ${SAMPLE_BYTES} characters together.`)
    .default([])
    .describe('Messages to try it with')
    .meta({ examples: [[]] }),
}
const newProfile = z.strictObject(newFields).superRefine(checkChoices)

const shown = z.object({
  _id: id.describe('A built-in profile has its name'),
  name: text('Pallet trackers'),
  isBuiltIn: z.boolean().describe('Written in code: it cannot be changed, and has no choices to show'),
  ...shownChoices,
  fields: shownChoices.fields.nullable().describe('Null for a built-in profile'),
  sampleMessages: z.array(message),
  createdAt: z.date().nullable(),
  updatedAt: z.date().nullable(),
})

/** As it would be saved, or a draft, which has no name yet. */
const unsaved = z
  .strictObject({
    ...choiceFields,
    name: newFields.name.optional(),
    sampleMessages: newFields.sampleMessages.removeDefault().optional(),
  })
  .superRefine(checkChoices)

const draft = z.object(shownChoices)

const messages = z.array(message).min(1).max(MAX_MESSAGES)

const previewed = z.object({
  device: text('352093081452251').nullable().describe('What names the device in it'),
  points: z.array(
    z.object({
      lat: z.number().meta({ examples: [52.52] }),
      lng: z.number().meta({ examples: [13.405] }),
      timestamp: z.date(),
      speed: z.number().nullable().describe('Metres per second'),
      heading: z.number().nullable().describe('Degrees'),
      accuracy: z.number().nullable().describe('Metres'),
      altitude: z.number().nullable().describe('Metres'),
      battery: z.number().nullable().describe('Per cent'),
      attributes: z.record(z.string(), z.unknown()).nullable(),
      device: z.string().nullable(),
    }),
  ),
  rejected: z.array(z.object({ reason: text('bad-coordinates'), message: z.string() })),
  skipped: z.string().nullable().describe('Why it has no position by design'),
})

nameSchemas({
  TrackerProfile: shown,
  NewTrackerProfile: newProfile,
  TrackerChoices: draft,
  NewTrackerChoices: unsaved,
  TrackerMessage: message,
  PreviewedMessage: previewed,
})

const tags = ['Tracker profiles']
/** A UUID, or the name of a built-in profile. */
const params = z.object({ id: z.string().max(64).toLowerCase().describe('Identifier') })

export const listTrackerProfiles = operation({
  access: 'view/device',
  tags,
  summary: 'The profiles by which messages of trackers are read',
  description: `A profile says how messages of one kind are read. Those of the organization are lists of choices; built-in
ones are written in code and are named by their \`_id\`: \`ttn\`, \`chirpstack\`, \`meshtastic\`, \`teltonika\`,
\`traccar\`, \`flespi\`, \`sigfox\`, \`home-assistant\`, \`notehub\`.`,
  querystring: listQuery(TRACKER_PROFILE_SORTS, 'name'),
  response: { 200: list(shown) },
})

export const getTrackerProfile = operation({
  access: 'view/device',
  tags,
  summary: 'A profile',
  description: 'Of the organization, or a built-in one by its name.',
  params,
  response: { 200: success(shown) },
})

export const createTrackerProfile = operation({
  access: 'create/device',
  tags,
  summary: 'Create a profile',
  description: `At most 64 paths of 256 characters. A path begins with \`$.payload\`, \`$.topic\` (its levels),
\`$.clientId\`, \`$.username\`, \`$.query\` (over HTTP) or \`$.item\` (with \`each\`); its filters compare with constants. A
choice that makes no sense is 400 with its place.`,
  body: newProfile,
  response: { 201: success(shown) },
})

export const replaceTrackerProfile = operation({
  access: 'update/device',
  tags,
  summary: 'Replace a profile',
  description: 'Open connections read by it from the next second on.',
  params,
  body: newProfile,
  response: { 200: success(shown), ...failures(409) },
})

export const deleteTrackerProfile = operation({
  access: 'delete/device',
  tags,
  summary: 'Delete a profile',
  description: 'Possible once nothing is read by it.',
  params,
  response: { 200: deleted, ...failures(409) },
})

export const previewMessages = operation({
  access: 'view/device',
  tags,
  summary: 'Try a profile',
  description: `Reads at most ${MAX_MESSAGES} messages by a profile that is stored, or by one that is not yet, with at most 1,000 positions together. Stores nothing.`,
  body: z
    .strictObject({
      profileId: reference
        .nullable()
        .default(null)
        .meta({ examples: ['teltonika'] }),
      profile: unsaved
        .nullable()
        .default(null)
        .meta({ examples: [null] }),
      messages,
    })
    .refine(
      ({ profileId, profile }) => (profileId === null) !== (profile === null),
      'Either profileId or profile says how the messages are read.',
    ),
  response: { 200: success(z.array(previewed)) },
})

export const suggestProfile = operation({
  access: 'view/device',
  tags,
  summary: 'Suggest a profile for messages',
  description: 'The built-in profile that reads them, or else a draft made from names and values.',
  body: z.strictObject({ messages }),
  response: {
    200: success(
      z.object({
        profileId: text('teltonika').nullable(),
        profile: draft.nullable().describe('A draft, to be tried and changed before it is saved'),
        because: z.array(text('`$.payload.lat` and `$.payload.lon` are a latitude and a longitude.')),
      }),
    ),
  },
})
