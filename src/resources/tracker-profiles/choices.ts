import { z } from 'zod'
import type { Choices, Scalar } from '../../../db/schema/tracker-profiles.ts'
import { compileProfile } from '../../../ingest/profiles/own/compile.ts'
import { ProfileFault } from '../../../ingest/profiles/own/fault.ts'

/** The choices of a profile, as a request gives them. Longer paths are refused with the rest that makes no sense. */
const path = z.string().min(1).max(1_000)

const scalar = z
  .union([z.string().max(128), z.number(), z.boolean(), z.null()])
  .meta({ id: 'TrackerValue', description: 'A text, a number, true, false or null' })

const innerPath = z
  .strictObject({ path: path.meta({ examples: ['$.lat'] }) })
  .meta({ id: 'TrackerInnerPath' })
const split = z
  .strictObject({ by: z.string().min(1).max(8), index: z.int().min(0).max(255) })
  .meta({ id: 'TrackerSplit' })

const source = z
  .strictObject({
    from: z
      .array(path)
      .min(1)
      .max(16)
      .describe('JSONPaths without descendants and functions; the first that holds something counts')
      .meta({ examples: [['$.payload.lat']] }),
    json: innerPath
      .nullable()
      .default(null)
      .describe('The text there holds JSON, and the value is at this path in it'),
    split: split
      .nullable()
      .default(null)
      .describe('The value is one part of the text there')
      .meta({ examples: [null] }),
    unit: z
      .string()
      .min(1)
      .max(64)
      .nullable()
      .default(null)
      .describe(
        'What it is measured in: `deg`, `deg1e5`, `deg1e6`, `deg1e7`, `rad`; a heading `deg`, `deg1e2`, `deg1e5`, `rad`; a speed `m/s`, `km/h`, `mph`, `kn`, `cm/s`; a length `m`, `cm`, `ft`; a battery `percent`, `fraction`; a time `rfc3339`, `s`, `ms`, or a pattern of `YYYY MM DD HH mm ss` in UTC. Null: the first of them, and any of `rfc3339`, `s` and `ms`',
      )
      .meta({ examples: [null] }),
    absent: z
      .array(scalar)
      .max(16)
      .default([])
      .describe('Values that stand for nothing, besides null, "", "null" and "nil"')
      .meta({ examples: [[-1]] }),
  })
  .meta({ id: 'NewTrackerSource' })

/** Without `json`, since a source of plain fields is the usual one. */
const plain = (from: string, more: object = {}) => ({
  from: [from],
  json: null,
  split: null,
  unit: null,
  absent: [],
  ...more,
})

const KINDS = ['exists', 'missing', 'equals', 'not', 'oneOf'] as const

const condition = z
  .strictObject({
    from: path.meta({ examples: ['$.payload.fix'] }),
    is: z.enum(KINDS).meta({ examples: ['not'] }),
    value: z
      .union([scalar, z.array(scalar).max(32)])
      .optional()
      .describe(
        'What it is compared with; a list with `oneOf`. 1 is the same as "1", true the same as "true"',
      )
      .meta({ examples: [false] }),
  })
  .meta({ id: 'NewTrackerCondition' })

const field = source.nullable().default(null)

const fields = z
  .strictObject({
    lat: source.meta({ examples: [plain('$.payload.lat')] }),
    lng: source.meta({ examples: [plain('$.payload.lon')] }),
    timestamp: field
      .describe('Null: the time of receipt')
      .meta({ examples: [plain('$.payload.time', { unit: 's' })] }),
    speed: field.meta({ examples: [plain('$.payload.speed', { unit: 'km/h', absent: [-1] })] }),
    heading: field.meta({ examples: [null] }),
    accuracy: field.meta({ examples: [null] }),
    altitude: field.meta({ examples: [null] }),
    battery: field.meta({ examples: [null] }),
  })
  .meta({ id: 'NewTrackerFields' })

const ATTRIBUTES = 16

export const choiceFields = {
  topic: z
    .string()
    .min(1)
    .max(1_000)
    .describe('An MQTT filter: the topics on which the messages come')
    .meta({ examples: ['trackers/+/position'] }),
  each: path
    .nullable()
    .default(null)
    .describe(
      'The path of a list whose elements are a point each, which are `$.item` then; null: a message is one point',
    )
    .meta({ examples: [null] }),
  when: z
    .array(condition)
    .max(8)
    .default([])
    .describe('Where one fails, the message has no position by design, which is no rejection'),
  device: field
    .describe('What names the device: an IMEI, a DevEUI, an identifier of another system')
    .meta({ examples: [plain('$.topic[1]')] }),
  fields,
  attributes: z
    .record(z.string().min(1).max(64), source)
    .refine(
      named => Object.keys(named).length <= ATTRIBUTES,
      `A profile has at most ${ATTRIBUTES} attributes.`,
    )
    .default({})
    .meta({ examples: [{ ignition: plain('$.payload.ignition') }] }),
}

const choices = z.strictObject(choiceFields)

const shownSource = z
  .object({
    from: z.array(z.string()),
    json: innerPath.nullable(),
    split: split.nullable(),
    unit: z.string().nullable(),
    absent: z.array(scalar),
  })
  .meta({ id: 'TrackerSource' })
const shownField = shownSource.nullable()

/** The choices as an answer shows them. */
export const shownChoices = {
  topic: z.string().meta({ examples: ['trackers/+/position'] }),
  each: z.string().nullable(),
  when: z.array(
    z
      .object({
        from: z.string(),
        is: z.enum(KINDS),
        value: z.union([scalar, z.array(scalar)]).optional(),
      })
      .meta({ id: 'TrackerCondition' }),
  ),
  device: shownField,
  fields: z
    .object({
      lat: shownSource,
      lng: shownSource,
      timestamp: shownField,
      speed: shownField,
      heading: shownField,
      accuracy: shownField,
      altitude: shownField,
      battery: shownField,
    })
    .meta({ id: 'TrackerFields' }),
  attributes: z.record(z.string(), shownSource),
}

/** The choices among the fields of a request. */
export function choicesOf({
  topic,
  each,
  when,
  device,
  fields,
  attributes,
}: z.output<typeof choices>): Choices {
  return { topic, each, when: when.map(withValue), device, fields, attributes }
}

const withValue = ({
  from,
  is,
  value,
}: {
  from: string
  is: Choices['when'][number]['is']
  value?: Scalar | Scalar[] | undefined
}) => (value === undefined ? { from, is } : { from, is, value })

/** Reports a choice that makes no sense, at its place. */
export function checkChoices(given: z.output<typeof choices>, context: z.core.$RefinementCtx): void {
  try {
    compileProfile(choicesOf(given))
  } catch (error) {
    if (!(error instanceof ProfileFault)) throw error
    context.addIssue({ code: 'custom', path: [...error.where], message: error.message })
  }
}
