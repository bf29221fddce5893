import { AUDIT_SORTS, listAuditEntries } from '../../../db/queries/audit-log.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { dataAccess } from '../data/access.ts'
import { createEntryPresenter } from './present.ts'
import * as operations from './schemas.ts'

export function auditRoutes(app: App, { db }: Services): void {
  app.get('/audit-log', operations.listAuditEntries, async ({ caller, query }) => {
    const filter = {
      userIds: splitIds(query.userId),
      resource: query.resource,
      resourceIds: splitIds(query.resourceId),
      action: query.action,
      from: query.from === undefined ? undefined : new Date(query.from),
      to: query.to === undefined ? undefined : new Date(query.to),
    }
    const page = readPageRequest(query, AUDIT_SORTS)
    const { seesEverything } = dataAccess(caller, 'view/data')
    const entries = await db.tenant(caller.organizationId, tx =>
      listAuditEntries(tx, filter, page, { hidesSizes: !seesEverything }),
    )
    const present = await createEntryPresenter(db.system, caller, entries.rows)
    return listed({ ...entries, rows: entries.rows.map(present) }, query)
  })
}
