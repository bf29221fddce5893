import { z } from 'zod'
import {
  EXPORT_FORMATS,
  EXPORT_LOG_SORTS,
  EXPORT_PLACES,
  EXPORT_RESOURCES,
  EXPORT_STATUSES,
} from '../../../db/queries/export-logs.ts'
import { failures, id, list, namedRecord, pathId, reference, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

export const FILE_TYPES = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  json: 'application/json; charset=utf-8',
} as const

const named = namedRecord.nullable()
const time = z.date()

const exportLog = z.object({
  _id: id,
  resource: z.enum(EXPORT_RESOURCES),
  dataType: named.describe('The data type of an export of data sources; null after the type was deleted'),
  format: z.enum(EXPORT_FORMATS),
  filter: z.record(z.string(), z.string()).meta({ examples: [{ city: 'Berlin' }] }),
  fields: z.array(text('name')).nullable().describe('Those that were asked for, or null'),
  places: z.enum(EXPORT_PLACES).describe('How places stand in a spreadsheet'),
  direct: z.boolean().describe('Whether the file was the answer itself; none is kept then'),
  status: z.enum(EXPORT_STATUSES).meta({ examples: ['completed'] }),
  total: z.int().nullable().describe('How many records there are, where that is known'),
  processed: z.int().describe('How many are in the file so far'),
  progress: z.number().min(0).max(1).describe('From 0 to 1'),
  error: text('A spreadsheet holds at most 1,048,575 records: filter them, or export them as JSON.')
    .nullable()
    .describe('Why it failed'),
  fileName: text('Customer.xlsx'),
  fileBytes: z.int().nullable().describe('Null where no file is kept'),
  createdBy: named.describe('The user who exported; null after that user was deleted'),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  expiresAt: time.describe('When the record and its file go'),
  createdAt: time,
  updatedAt: time,
})

const asked = {
  format: z.enum(EXPORT_FORMATS),
  filter: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .default({})
    .describe('Values by key, like the filters of the list: only records that have all of them')
    .meta({ examples: [{}] }),
  fields: z
    .array(z.string().max(100))
    .min(1)
    .max(200)
    .optional()
    .describe('Keys of fields: only these. One that the role restricts is 403'),
}

const dataExport = z.strictObject({
  dataTypeId: reference,
  ...asked,
  places: z
    .enum(EXPORT_PLACES)
    .default('text')
    .describe(
      'How places stand in a spreadsheet: as `52.52, 13.405 (Alexanderplatz 1)` in one cell, or in a column each for latitude, longitude and address',
    ),
})
const tasksExport = z.strictObject(asked)

const file = z.unknown().meta({ type: 'string', format: 'binary', examples: ['The bytes of a workbook'] })
const records = z
  .array(z.record(z.string(), z.unknown()))
  .meta({ examples: [[{ _id: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70', data: { name: 'Acme' } }]] })

const fileAnswer = {
  description: 'The file',
  content: {
    [FILE_TYPES.xlsx]: { schema: file },
    'application/json': { schema: records },
  },
}

nameSchemas({ ExportLog: exportLog, DataExport: dataExport, TasksExport: tasksExport })

const tags = ['Exports']
const answers = {
  200: fileAnswer,
  202: success(exportLog).describe('Too much for an answer: the record of the export to watch'),
  ...failures(429),
}

export const exportData = operation(
  {
    access: 'export/data',
    tags,
    summary: 'Export the data sources of a type as XLSX or JSON',
    description: `Up to \`EXPORT_DIRECT_LIMIT\` records the file itself, beyond that 202 with a record in the log, whose
file can be fetched when it is completed. A spreadsheet has a column for each field that the role may see, headed by its
label; with \`places: "columns"\` a place has three, its label with \`latitude\`, \`longitude\` and \`address\` behind it; JSON is an array of records as \`GET /data\` shows them. Both can be imported again. \`filter\` and \`fields\` are
those of \`GET /data\`; a restricted field named in either is 403 with \`restrictedFields\`.`,
    body: dataExport,
    response: answers,
  },
  { heavy: true },
)

export const exportTasks = operation(
  {
    access: 'export/task',
    tags,
    summary: 'Export tasks as XLSX or JSON',
    description: `Those that the role may both see and export. Up to \`EXPORT_DIRECT_LIMIT\` tasks the file itself, beyond
that 202 with a record in the log, whose file can be fetched when it is completed. JSON is an array of tasks as \`GET /tasks\`
shows them; a spreadsheet has a column for each field of a task, and for each field that the steps of flows ask for.
\`filter\` has the names of the filters of \`GET /tasks\`, \`search\` and \`_id\`, \`fields\` the keys of a task; for \`_id\`, \`isSample\`,
\`createdAt\` and \`updatedAt\` a spreadsheet has a column where they are named.`,
    body: tasksExport,
    response: answers,
  },
  { heavy: true },
)

export const listExportLogs = operation(
  {
    access: 'session',
    tags,
    summary: 'The exports of the last 30 days',
    description:
      "Exports of tasks and of data sources, direct ones too: the caller's own; Owner and Admin see those of everybody.",
    querystring: listQuery(EXPORT_LOG_SORTS, '-createdAt').extend({
      resource: z.enum(EXPORT_RESOURCES).optional(),
      status: z.enum(EXPORT_STATUSES).optional(),
      format: z.enum(EXPORT_FORMATS).optional(),
      dataTypeId: z.string().optional(),
      userId: z.string().optional().describe('Who exported'),
    }),
    response: { 200: list(exportLog) },
  },
  { apiKey: true },
)

export const getExportLog = operation(
  {
    access: 'session',
    tags,
    summary: 'An export, and how far it is',
    description: 'An own one; Owner and Admin see those of everybody.',
    params: z.object({ id: pathId }),
    response: { 200: success(exportLog) },
  },
  { apiKey: true },
)

export const getExportFile = operation(
  {
    access: 'session',
    tags,
    summary: 'The file of an export',
    description: `For the user who created it, and Owner and Admin, while their role may still see and export every field that
is in it (else 403). Before it is completed: 409. A failed or a direct one has none: 404. Each time it is
taken stands in the audit log.`,
    params: z.object({ id: pathId }),
    response: { 200: fileAnswer, ...failures(403, 409, 429) },
  },
  { heavy: true, apiKey: true },
)
