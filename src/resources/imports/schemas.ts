import { z } from 'zod'
import { UNDO_STATUSES } from '../../../db/queries/import-steps.ts'
import {
  IMPORT_MODES,
  IMPORT_SORTS,
  IMPORT_STATUSES,
  type ImportFormat,
} from '../../../db/queries/imports.ts'
import {
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
import { nameSchemas, operation } from '../../http/operation.ts'
import { whichType } from '../data/schemas.ts'
import { columns } from '../import-configs/schemas.ts'
import { MAX_FILE_BYTES } from './limits.ts'

const rows = z.int().meta({ examples: [120] })

const undo = z.object({
  status: z.enum(UNDO_STATUSES),
  deleted: rows.describe('Records that it had created'),
  restored: rows.describe('Records that have the values before the import again'),
  left: z
    .object({
      changed: rows.describe('Somebody has changed them since'),
      gone: rows.describe('They have been deleted since'),
      referred: rows.describe('Created by the import, and other records refer to them'),
      unfit: rows.describe('Their former values do not fit the type, or another record, any more'),
      forgotten: rows.describe('They are not remembered: there were too many'),
    })
    .describe('The records that were left alone'),
  error: z.string().nullable().describe('Why it failed as a whole'),
  startedAt: text('2026-11-21T10:00:00.000Z'),
  finishedAt: text('2026-11-21T10:00:09.000Z').nullable(),
})

const importRecord = z.object({
  _id: id,
  status: z.enum(IMPORT_STATUSES),
  fileName: text('customers.xlsx'),
  dataType: namedRecord,
  mode: z.enum(IMPORT_MODES),
  dryRun: z.boolean(),
  mapping: z
    .record(z.string(), columns)
    .describe(
      'Which column goes to which field: the heading by the key, of a place perhaps those of its latitude, its longitude and its address; where none was given, as proposed; of JSON without fields that the role may not see',
    )
    .meta({ examples: [{ name: 'Customer name', phone: 'Phone' }] }),
  total: rows.nullable().describe('Rows with values; known when all of the file is read'),
  processed: rows,
  created: rows,
  updated: rows,
  unchanged: rows,
  failed: rows,
  progress: z.number().describe('0 to 1'),
  error: z.string().nullable().describe('Why it failed as a whole'),
  failures: z
    .array(
      z.object({
        row: z.int().describe('As a spreadsheet numbers it: the header is 1'),
        field: text('phone').nullable().describe('The key of the field; null is the row as a whole'),
        value: text('n/a').nullable(),
        message: text('This has to be a phone number.'),
      }),
    )
    .describe('The first 1,000'),
  isSample,
  canUndo: z
    .boolean()
    .describe(
      'Whether it has ended, there are records that it wrote and remembers, and the role may undo it',
    ),
  undo: undo.nullable().describe('How far its undo is; null where nobody asked for one'),
  createdAt: z.date(),
  updatedAt: z.date(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
})

/** The types of the files of failed rows, as they are sent. */
export const FILE_TYPES = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
}

const FILES: { [format in ImportFormat]: z.ZodType } = {
  csv: z
    .string()
    .meta({ examples: ['Name;Phone;Import error\r\nAda;n/a;Phone: This has to be a phone number.\r\n'] }),
  json: z.array(z.looseObject({ error: text('phone: This has to be a phone number.') })).meta({
    examples: [[{ data: { name: 'Ada', phone: 'n/a' }, error: 'phone: This has to be a phone number.' }]],
  }),
  xlsx: z.unknown().meta({ type: 'string', format: 'binary', examples: ['The bytes of a workbook'] }),
}

nameSchemas({ ImportUndo: undo, ImportRecord: importRecord, RowFailure: importRecord.shape.failures.element })

const tags = ['Imports']
const params = z.object({ id: pathId })

export const listImports = operation({
  access: 'import/data',
  tags,
  summary: 'Imports and their results',
  description:
    'Kept for 30 days, with the files of those that have rows that failed. A role sees the imports into the data types that it may import.',
  querystring: listQuery(IMPORT_SORTS, '-createdAt').extend({
    status: z.enum(IMPORT_STATUSES).optional(),
    dataTypeId: z.string().optional(),
    dryRun: z.enum(['true', 'false']).optional(),
  }),
  response: { 200: list(importRecord) },
})

export const getImport = operation({
  access: 'import/data',
  tags,
  summary: 'An import and its result',
  description: `While it works its counts and \`progress\` grow; \`watch\` on the live socket tells of them. A row that
failed does not stop the rest. Of fields that the role restricts there is no name and no value, but for whoever sent the file.`,
  params,
  response: { 200: success(importRecord) },
})

export const getFailedRows = operation({
  access: 'import/data',
  tags,
  summary: 'The rows that failed, as a file to be mended and sent again',
  description: `In the shape of the upload, with a column of the errors in each row. A CSV comes with the delimiter of the upload, in UTF-8.
Before the import has ended: 409. Where no row failed: 404.
It holds values of every column, so where the role restricts fields of the data type it is 403, but for whoever sent the file.`,
  params,
  response: {
    200: {
      description: 'The file',
      content: Object.fromEntries(
        Object.entries(FILE_TYPES).map(([format, type]) => [
          // A client of the document looks for the media type alone.
          type.replace(/;.*/, ''),
          { schema: FILES[format as ImportFormat] },
        ]),
      ),
    },
    ...failures(409),
  },
})

export const cancelImport = operation({
  access: 'import/data',
  tags,
  summary: 'Cancel an import',
  description: 'Imported rows stay, and no more follow. An import that has ended answers 409.',
  params,
  response: { 200: success(importRecord), ...failures(409) },
})

export const undoImport = operation({
  access: 'import/data',
  tags,
  summary: 'Undo an import',
  description: `Deletes the records that it created and puts back the values of those that it changed, in the background and as
far as nobody has changed them since; \`undo\` of the record tells how far it is and what was left alone. Needs \`delete/data\`,
\`update/data\` and \`import/data\` for the type, and where the role restricts fields of it, it is 403 but for whoever sent the file. 409 for a dry run, one that works, and one that is undone or remembers nothing. Imports are
remembered for 30 days, those of an organization up to 1 GiB.`,
  params,
  response: { 202: success(importRecord), ...failures(409) },
})

const fields = z.strictObject({
  ...whichType,
  importConfigId: reference.optional().describe('Alone, it names the data type as well'),
  mapping: z
    .string()
    .optional()
    .describe(
      'JSON: the heading of a column by the key of a field, of a place also those of its latitude, its longitude and perhaps its address. Without it, it is proposed from the headings',
    )
    .meta({ examples: ['{ "name": "Customer name", "place": ["stop_lat", "stop_lon"] }'] }),
  mode: z.enum(IMPORT_MODES).default('create'),
  dryRun: z.enum(['true', 'false']).default('false'),
})

/** The form of an upload. The document describes it as `receiveUpload` reads it. */
export const importUpload = { fields, maxBytes: MAX_FILE_BYTES }

export const importFile = operation(
  {
    access: 'import/data',
    tags,
    summary: 'Import data sources from a file',
    description: `An .xlsx, .csv or .json file as an export makes it, up to 256 MiB. It is looked at at once: a file that cannot be
imported as it is answers 415 or 422 and says why. The rows are then read in the background, and the answer is the record to watch.

The first sheet counts (one that is hidden is 422), and its first row names the columns. Which column goes to which field is said by an import config,
by \`mapping\`, or proposed from the headings: as they are, then without case, accents and punctuation; a place also from a latitude and a longitude in two columns. With \`dryRun\` the
record tells what would become of each row, and nothing changes.

In mode \`create\` a row whose primary key is known is \`unchanged\` where it is equal and fails where it differs; in mode
\`upsert\` it changes the record, and fields without a column keep their values. Of two rows with one key the first counts.`,
    response: { 202: success(importRecord), ...failures(400, 408, 409, 413, 415, 422) },
  },
  { upload: importUpload },
)
