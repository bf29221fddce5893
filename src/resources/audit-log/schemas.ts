import { z } from 'zod'
import { AUDIT_SORTS } from '../../../db/queries/audit-log.ts'
import { anyValue, id, list, namedRecord } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { queryTime } from '../../http/times.ts'

const entry = z.object({
  _id: id,
  at: z.date(),
  userId: id.nullable().describe('Who did it; it may have left since. Null where an API key did'),
  apiKey: namedRecord
    .nullable()
    .describe('The API key that did it, by its name at that time; it may have been deleted since'),
  action: z.string().meta({ examples: ['update'] }),
  resource: z.string().meta({ examples: ['team'] }),
  resourceId: id.nullable(),
  changes: z
    .record(z.string(), z.object({ from: anyValue.optional(), to: anyValue.optional() }))
    .meta({ examples: [{ name: { from: 'North', to: 'North-east' } }] })
    .describe(
      'Each field that changed, with its value before and after. Values of data records are named only, and not where your role hides them',
    ),
})

nameSchemas({ AuditEntry: entry })

export const listAuditEntries = operation({
  access: 'view/audit',
  tags: ['Audit log'],
  summary: 'Changes and who made them, newest first',
  description: 'Kept for one year.',
  querystring: listQuery(AUDIT_SORTS, '-at').extend({
    userId: z.string().optional().describe('Users and API keys, separated by commas'),
    resource: z.string().max(100).optional(),
    resourceId: z.string().optional().describe('Records, separated by commas'),
    action: z.string().max(100).optional(),
    from: queryTime.optional().describe('Inclusive: RFC 3339, or seconds or milliseconds since 1970'),
    to: queryTime.optional().describe('Exclusive'),
  }),
  response: { 200: list(entry) },
})
