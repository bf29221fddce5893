import { z } from 'zod'
import { SCHEDULE_SORTS } from '../../../db/queries/schedules.ts'
import {
  deleted,
  failures,
  fieldError,
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
import { timeZone } from '../../http/times.ts'
import { flow } from '../flows/schemas.ts'
import { location, values } from '../tasks/schemas.ts'
import { exceptions, plannedTime, repeat, shownRepeat } from './timing.ts'

/** The maximum in a request (contract section 6), and its size: 2 KiB and 100 values each. */
export const MAX_SCHEDULES = 500
export const MAX_BYTES = 1024 * 1024
const MAX_VALUES = 50_000
const MAX_DATA_IDS = 100
const MAX_DURATION_S = 366 * 86_400
const MAX_PREVIEW = 500

const nothing = { examples: [null] }
const named = reference.nullable().default(null)

const timing = {
  repeat,
  startTime: plannedTime.meta({ examples: ['2026-11-23T08:00:00Z'] }),
  endTime: plannedTime.nullable().describe('The last moment of an occurrence').meta(nothing),
  timezone: timeZone,
  exceptions,
}

const fields = {
  name: newName(100).meta({ examples: ['Water the plants'] }),
  flowId: reference.describe('The flow whose steps the tasks take; the usual one where it is left out'),
  dataIds: z
    .array(reference)
    .max(MAX_DATA_IDS)
    .meta({ examples: [[]] }),
  hubId: reference.nullable(),
  teamId: reference.nullable(),
  assigneeId: reference.nullable(),
  vehicleId: reference.nullable(),
  location: location.nullable(),
  duration: z
    .int()
    .min(0)
    .max(MAX_DURATION_S)
    .nullable()
    .describe('Seconds from the start of each task to its end')
    .meta({ examples: [3600] }),
  content: values.describe('The content of each task'),
  ...timing,
}

const endsAfterStart = (
  { startTime, endTime }: { startTime?: Date | undefined; endTime?: Date | null | undefined },
  context: z.RefinementCtx,
) => {
  if (startTime && endTime && endTime < startTime)
    context.addIssue({ code: 'custom', path: ['endTime'], message: 'This must not be before startTime.' })
}

/** Without a start time it starts when it is created; without a time zone it has the organization's. */
export const newSchedule = z
  .strictObject({
    ...fields,
    flowId: fields.flowId.optional(),
    dataIds: fields.dataIds.default([]),
    hubId: named,
    teamId: named,
    assigneeId: named,
    vehicleId: named,
    location: fields.location.default(null),
    duration: fields.duration.default(null),
    content: fields.content.default({}),
    repeat: repeat.default({ frequency: 'daily', interval: 1 }),
    startTime: timing.startTime.optional(),
    endTime: timing.endTime.default(null),
    timezone: timeZone.optional(),
    exceptions: exceptions.default([]),
  })
  .superRefine(endsAfterStart)
export type NewScheduleBody = z.output<typeof newSchedule>

const schedulePatch = z.strictObject(fields).partial().superRefine(endsAfterStart)
export type SchedulePatch = z.output<typeof schedulePatch>

const time = (example: string) => z.date().meta({ examples: [example] })
const schedule = z.object({
  _id: id,
  name: text('Water the plants'),
  flowId: id,
  flow: z.object({ _id: id, name: text('Standard'), steps: flow.shape.steps }).describe('As it is now'),
  dataIds: z.array(id),
  hubId: id.nullable(),
  teamId: id.nullable(),
  assigneeId: id.nullable(),
  vehicleId: id.nullable(),
  location: z.object({ lat: z.number(), lng: z.number(), address: z.string().nullable() }).nullable(),
  duration: z.int().nullable(),
  content: z.record(z.string(), z.unknown()),
  repeat: shownRepeat,
  startTime: time('2026-11-23T08:00:00.000Z'),
  endTime: z.date().nullable(),
  timezone: text('Europe/Berlin'),
  exceptions: z.array(text('2026-12-25')),
  nextRunAt: time('2026-11-26T08:00:00.000Z')
    .nullable()
    .describe('The next occurrence whose task is not created yet; null where there is none any more'),
  lastRunAt: time('2026-11-23T08:00:00.000Z')
    .nullable()
    .describe('The last occurrence whose task was created'),
  skipped: z.int().describe('Occurrences that were missed and create no task: the last 1,000 of them do'),
  lastError: text('1 of its data sources were deleted. Take them out of dataIds.')
    .nullable()
    .describe('Why the task of nextRunAt could not be created; it is tried again'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const scheduleResult = z.object({
  index: z.int(),
  status: z.enum(['created', 'failed']),
  schedule: schedule.optional(),
  errors: z.array(fieldError).optional(),
})

const occurrences = z.object({ occurrences: z.array(text('2026-11-26T08:00:00.000Z')), past: z.int() })

nameSchemas({
  NewSchedule: newSchedule,
  SchedulePatch: schedulePatch,
  Schedule: schedule,
  ScheduleResult: scheduleResult,
  Occurrences: occurrences,
  NewRepeat: repeat,
  Repeat: shownRepeat,
})

const tags = ['Task schedules']
const params = z.object({ id: pathId })
const REPEATS = `With a simple repeat every period has its occurrence: a local time that the clocks skip moves on by the
gap (02:30 is 03:30), of two the first counts, a day that the month does not have is its last, and weeks begin on Monday. An
\`rrule\` goes by RFC 5545: such times and days are left out. It repeats once a minute at the most.`

export const listSchedules = operation({
  access: 'view/task-schedule',
  tags,
  summary: 'The task schedules of the organization',
  description:
    'With where each of them is: its next occurrence, its last one, and what keeps it from its next task.',
  querystring: listQuery(SCHEDULE_SORTS, 'name').extend({
    flowId: z.string().optional().describe('Identifiers of flows, separated by commas'),
    hubId: z.string().optional().describe('Identifiers of hubs, separated by commas'),
    teamId: z.string().optional().describe('Identifiers of teams, separated by commas'),
  }),
  response: { 200: list(schedule) },
})

export const getSchedule = operation({
  access: 'view/task-schedule',
  tags,
  summary: 'A task schedule',
  description: 'With its flow as it is now.',
  params,
  response: { 200: success(schedule) },
})

export const createSchedule = operation({
  access: 'create/task-schedule',
  tags,
  summary: 'Create a task schedule',
  description: `Creates a task at every occurrence. Those between \`startTime\` and now are created too, at most the last
1,000. ${REPEATS}`,
  body: newSchedule,
  response: { 201: success(schedule), ...failures(409) },
})

/** Each schedule is validated by itself, so that a wrong one is reported and the others are created. */
const anySchedule = z.unknown().meta({ $ref: '#/components/schemas/NewScheduleInput' })

export const createSchedules = operation(
  {
    access: 'create/task-schedule',
    tags,
    summary: 'Create up to 500 task schedules',
    description: 'Each is created, or reported with its errors by its place in the list, from 0.',
    body: z.strictObject({ schedules: z.array(anySchedule).min(1).max(MAX_SCHEDULES) }),
    response: {
      200: success(z.array(scheduleResult)),
      ...failures(413),
    },
  },
  { maxValues: MAX_VALUES },
)

export const previewSchedule = operation({
  access: 'view/task-schedule',
  tags,
  summary: 'The next occurrences of a repeat, before it is saved',
  description: `\`past\` is how many lie between \`startTime\` and now. ${REPEATS}`,
  body: z
    .strictObject({
      repeat,
      startTime: timing.startTime.optional(),
      endTime: timing.endTime.default(null),
      timezone: timeZone.optional(),
      exceptions: exceptions.default([]),
      count: z.int().min(1).max(MAX_PREVIEW).default(10),
    })
    .superRefine(endsAfterStart),
  response: {
    200: success(occurrences),
  },
})

const CHANGES = `A changed repeat, time or time zone holds from now on, or from \`startTime\` where no task was created yet.
Tasks that were created stay as they are.`

export const replaceSchedule = operation({
  access: 'update/task-schedule',
  tags,
  summary: 'Replace a task schedule',
  description: `Missing fields get their defaults; \`startTime\` stays, and so does content that the role restricts. ${CHANGES}`,
  params,
  body: newSchedule,
  response: { 200: success(schedule), ...failures(409) },
})

export const updateSchedule = operation({
  access: 'update/task-schedule',
  tags,
  summary: 'Change a task schedule',
  description: `Fields that are left out stay as they are; \`content\` is merged by key, null takes a key away. ${CHANGES}`,
  params,
  body: schedulePatch,
  response: { 200: success(schedule), ...failures(409) },
})

export const deleteSchedule = operation({
  access: 'delete/task-schedule',
  tags,
  summary: 'Delete a task schedule',
  description: 'It creates no more tasks; those that it created stay.',
  params,
  response: { 200: deleted },
})
