import { z } from 'zod'
import { IMPORT_MODES, IMPORT_SORTS, IMPORT_STATUSES } from '../../../db/queries/imports.ts'
import { failures, id, list, pathId, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { operation } from '../../http/operation.ts'

const rows = z.int().meta({ examples: [120] })

const importRecord = z.object({
  _id: id,
  status: z.enum(IMPORT_STATUSES),
  fileName: text('customers.xlsx'),
  dataType: z.object({ _id: id, name: text('Customer') }),
  mode: z.enum(IMPORT_MODES),
  dryRun: z.boolean(),
  mapping: z
    .record(z.string(), z.string())
    .describe('Which column goes to which field: the heading by the key; where none was given, as proposed')
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
  createdAt: z.date(),
  updatedAt: z.date(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
})

const tags = ['Imports']
const params = z.object({ id: pathId })

export const listImports = operation({
  access: 'import/data',
  tags,
  summary: 'Imports and what became of them',
  description:
    'Kept for 30 days, with their files. A role sees the imports into the data types that it may import.',
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
  summary: 'An import and what became of it',
  description: `While it works its counts and \`progress\` grow; \`watch\` on the live socket tells of them. A row that
failed does not stop the rest. Values of fields that the role restricts are null, but for whoever sent the file.`,
  params,
  response: { 200: success(importRecord) },
})

export const cancelImport = operation({
  access: 'import/data',
  tags,
  summary: 'Cancel an import',
  description: 'What is in stays in, and nothing more comes. One that has ended is 409.',
  params,
  response: { 200: success(importRecord), ...failures(409) },
})
