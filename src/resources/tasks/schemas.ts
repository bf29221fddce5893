import { z } from 'zod'
import { TASK_SORTS } from '../../../db/queries/tasks.ts'
import { ASSIGNEE_SORTS } from '../../../db/queries/users.ts'
import { queryBox } from '../../http/boxes.ts'
import {
  deleted,
  failure,
  failures,
  id,
  isSample,
  list,
  namedRecord,
  pathId,
  reference,
  success,
  text,
} from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { bodyTime, queryTime } from '../../http/times.ts'
import { MAX_CONTENT_BYTES } from './content.ts'

const MAX_KEYS = 200
const KEY = /^[A-Za-z][A-Za-z0-9_]*$/

const degrees = (max: number, example: number) =>
  z
    .number()
    .min(-max)
    .max(max)
    .meta({ examples: [example] })

/** Values by key; keys that are fields of the flow are checked against it. */
export const values = z
  .record(
    z.string().regex(KEY, 'A key has letters, digits and _, and starts with a letter.').max(100),
    z.unknown(),
  )
  .refine(given => Object.keys(given).length <= MAX_KEYS, `At most ${MAX_KEYS} values fit here.`)
  .refine(
    given => Buffer.byteLength(JSON.stringify(given)) <= MAX_CONTENT_BYTES,
    `At most ${MAX_CONTENT_BYTES / 1024} KiB fit here.`,
  )
  .meta({ examples: [{ parcels: 3 }] })

export const location = z.strictObject({
  lat: degrees(90, 52.52),
  lng: degrees(180, 13.405),
  address: z
    .string()
    .trim()
    .max(500)
    .nullable()
    .default(null)
    .meta({ examples: ['Alexanderplatz 1, 10178 Berlin'] }),
})

const fields = {
  name: newName(200).meta({ examples: ['Deliver three parcels'] }),
  code: z.string().trim().min(1).max(50).describe('Unique in the organization; drawn where it is left out'),
  flowId: reference.describe('The flow whose steps it takes; the usual one where it is left out'),
  dataIds: z.array(reference).max(100).describe('Data records that it is about'),
  hubId: reference.nullable(),
  teamId: reference.nullable().describe('The task can be assigned only to members of this team'),
  assigneeId: reference.nullable(),
  vehicleId: reference.nullable(),
  location: location.nullable(),
  startTime: bodyTime.nullable(),
  endTime: bodyTime.nullable(),
  content: values,
}

const newTask = z.strictObject({
  ...fields,
  code: fields.code.optional(),
  flowId: fields.flowId.optional(),
  dataIds: fields.dataIds.default([]),
  hubId: fields.hubId.default(null),
  teamId: fields.teamId.default(null),
  assigneeId: fields.assigneeId.default(null),
  vehicleId: fields.vehicleId.default(null),
  location: fields.location.default(null),
  startTime: fields.startTime.default(null),
  endTime: fields.endTime.default(null),
  content: fields.content.default({}),
})

const taskPatch = z.strictObject(fields).partial()

const move = z.strictObject({
  status: z
    .string()
    .max(50)
    .meta({ examples: ['accepted'] }),
  at: bodyTime
    .optional()
    .describe('When it happened; now where it is left out. The same status at the same time counts once'),
  lat: degrees(90, 52.52).optional(),
  lng: degrees(180, 13.405).optional(),
  note: z
    .string()
    .trim()
    .max(2_000)
    .optional()
    .meta({ examples: ['Left at the gate'] }),
  fields: values
    .default({})
    .describe('The fields that the step asks for')
    .meta({ examples: [{}] }),
})

export type NewTaskBody = z.output<typeof newTask>
export type TaskPatch = z.output<typeof taskPatch>
export type MoveBody = z.output<typeof move>

const task = z
  .object({
    _id: id,
    code: text('T-17'),
    name: text('Deliver three parcels'),
    status: text('accepted'),
    flowId: id,
    dataIds: z.array(id),
    hubId: id.nullable(),
    teamId: id.nullable(),
    assigneeId: id.nullable(),
    vehicleId: id.nullable(),
    location: z
      .object({
        lat: degrees(90, 52.52),
        lng: degrees(180, 13.405),
        address: text('Alexanderplatz 1').nullable(),
      })
      .nullable(),
    startTime: z.date().nullable(),
    endTime: z.date().nullable(),
    content: z.record(z.string(), z.unknown()).meta({ examples: [{ parcels: 3 }] }),
    scheduleId: id.nullable().describe('The schedule that created it'),
    history: z
      .array(
        z.object({
          status: text('accepted'),
          at: text('2026-11-21T09:00:00.000Z'),
          by: id.nullable().describe('The user; null where a schedule or an API key did it'),
          apiKey: namedRecord.optional().describe('The API key that did it, by its name at that time'),
          lat: degrees(90, 52.52).nullable(),
          lng: degrees(180, 13.405).nullable(),
          note: text('Left at the gate').nullable(),
          fields: z.record(z.string(), z.unknown()).meta({ examples: [{}] }),
        }),
      )
      .describe('In the order of time; the last entry is the status'),
    isSample,
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'Task' })

const assignee = z.object({
  _id: id,
  name: text('Ada Lovelace'),
  status: z.enum(['active', 'invited', 'suspended']),
})

/** The fields of a task in an answer. */
export const TASK_KEYS = Object.keys(task.shape) as (keyof typeof task.shape)[]

nameSchemas({
  Assignee: assignee,
  NewTaskLocation: location,
  NewTask: newTask,
  TaskPatch: taskPatch,
  TaskMove: move,
})

const tags = ['Tasks']
const params = z.object({ id: pathId })
const several = (what: string) => z.string().optional().describe(`${what}, separated by commas`)

/** The filters of a list of tasks. */
export const taskFilter = {
  status: several('Statuses'),
  hubId: several('Hubs'),
  teamId: several('Teams'),
  assigneeId: several('Users'),
  vehicleId: several('Vehicles'),
  scheduleId: several('Schedules'),
  flowId: several('Flows'),
  from: queryTime.optional().describe('`startTime` at this time or later'),
  to: queryTime.optional().describe('`startTime` before this time'),
  bbox: queryBox
    .optional()
    .describe('west,south,east,north in degrees; west > east crosses the antimeridian'),
}

/** The filters of an export of tasks: those of the list, with search and identifiers. */
export const taskExportFilter = z.strictObject({
  ...taskFilter,
  ...listQuery(TASK_SORTS, '-createdAt').pick({ search: true, _id: true }).shape,
})

export const listTasks = operation({
  access: 'view/task',
  tags,
  summary: 'The tasks of the organization',
  description: `Those of the caller's hubs and of none, and by the role's scope the own teams' and the own ones alone.
Searches look into code, name and address. A task without \`startTime\` is sorted after the others and is on no day.`,
  querystring: listQuery(TASK_SORTS, '-createdAt').extend(taskFilter),
  response: { 200: list(task) },
})

export const listAssignees = operation({
  access: 'view/task',
  tags,
  summary: 'The people whom tasks may be given to',
  description: `Their names, for whoever plans work without \`view/user\`: those who work in one of the caller's hubs or in none, and by
the role's scope for tasks the own teams' and oneself alone. Whoever is not \`active\` gets no task and may still have some.`,
  querystring: listQuery(ASSIGNEE_SORTS, 'name'),
  response: { 200: list(assignee) },
})

export const getTask = operation({
  access: 'view/task',
  tags,
  summary: 'A task',
  description: 'With its history: every status that it has taken, when, where and by whom.',
  params,
  response: { 200: success(task) },
})

export const createTask = operation({
  access: 'create/task',
  tags,
  summary: 'Create a task',
  description: `It begins at the first step of its flow, and with an assignee at \`assigned\` where the flow has that.
Where a field of the flow and a field of a record in \`dataIds\` share a key, \`content\` takes the value from there unless
it is given; of several records the first wins.`,
  body: newTask,
  response: { 201: success(task), ...failures(409) },
})

export const updateTask = operation({
  access: 'update/task',
  tags,
  summary: 'Change a task',
  description: `Missing fields stay unchanged; \`content\` is merged by key, \`null\` removes a key. The status changes with
\`POST /task/{id}/status\`, and between \`unassigned\` and \`assigned\` with the assignee.`,
  params,
  body: taskPatch,
  response: { 200: success(task), ...failures(409) },
})

export const moveTask = operation({
  access: 'update/task',
  tags,
  summary: 'Change the status of a task',
  description: `By the rules of its flow: 409 lists the \`allowed\` ones. The fields of the step are sent in \`fields\`, kept
in the history and merged into \`content\`. A phone that was offline sends \`at\`: the change takes its place in the history
by that time, the status stays where something has happened since, and sent twice it counts once.`,
  params,
  body: move,
  response: {
    200: success(task),
    409: failure
      .extend({ allowed: z.array(text('on_the_way')).optional() })
      .describe('The flow does not allow it'),
  },
})

export const deleteTask = operation({
  access: 'delete/task',
  tags,
  summary: 'Delete a task',
  description: 'With its history.',
  params,
  response: { 200: deleted },
})
