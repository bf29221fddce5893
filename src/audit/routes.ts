import { z } from 'zod'
import { AUDIT_SORTS, listAuditEntries } from '../../db/queries/audit-log.ts'
import { id, list } from '../envelope.ts'
import { listed, listQuery, readPageRequest, splitIds } from '../lists.ts'
import type { App, Services } from '../services.ts'

const entry = z.object({
  _id: id,
  at: z.date(),
  userId: id.nullable().describe('Who did it; it may have left since'),
  action: z.string().meta({ examples: ['update'] }),
  resource: z.string().meta({ examples: ['team'] }),
  resourceId: id.nullable(),
  changes: z
    .record(z.string(), z.object({ from: z.unknown().optional(), to: z.unknown().optional() }))
    .meta({ examples: [{ name: { from: 'North', to: 'North-east' } }] })
    .describe('Each field that changed, with its value before and after'),
})

export function auditRoutes(app: App, { db }: Services): void {
  app.get(
    '/audit-log',
    {
      config: { access: 'view/audit' },
      schema: {
        tags: ['Audit log'],
        summary: 'Who changed what, newest first',
        description: 'Kept for one year.',
        querystring: listQuery(AUDIT_SORTS, '-at').extend({
          userId: z.string().optional().describe('Users, separated by commas'),
          resource: z.string().max(100).optional(),
          resourceId: z.string().optional().describe('Records, separated by commas'),
          action: z.string().max(100).optional(),
          from: z.iso.datetime({ offset: true }).optional().describe('Inclusive'),
          to: z.iso.datetime({ offset: true }).optional().describe('Exclusive'),
        }),
        response: { 200: list(entry) },
      },
    },
    async request => {
      const { query } = request
      const filter = {
        userIds: splitIds(query.userId),
        resource: query.resource,
        resourceIds: splitIds(query.resourceId),
        action: query.action,
        from: query.from === undefined ? undefined : new Date(query.from),
        to: query.to === undefined ? undefined : new Date(query.to),
      }
      const page = readPageRequest(query, AUDIT_SORTS)
      const found = await db.tenant(request.caller.organizationId, tx => listAuditEntries(tx, filter, page))
      return listed(found, query)
    },
  )
}
