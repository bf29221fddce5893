import type { Queryable } from '../../../db/client.ts'
import { endImport, findImport, IMPORT_SORTS, listImports } from '../../../db/queries/imports.ts'
import { cancelJob, findActiveJob } from '../../../db/queries/jobs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { record } from '../../http/audit.ts'
import { ok } from '../../http/envelope.ts'
import { conflict, found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { dataAccess } from '../data/access.ts'
import { showImport } from './present.ts'
import * as operations from './schemas.ts'

export const IMPORT_JOB = 'import'

export function importRoutes(app: App, { db }: Services): void {
  app.get('/import-monitoring', operations.listImports, async ({ caller, query }) => {
    const { dataTypeIds } = dataAccess(caller, 'import/data')
    const filter = { ...query, dryRun: query.dryRun && query.dryRun === 'true' }
    const page = readPageRequest(query, IMPORT_SORTS)
    const imports = await db.tenant(caller.organizationId, tx => listImports(tx, dataTypeIds, filter, page))
    const rows = imports.rows.flatMap(row => showImport(row, caller) ?? [])
    return listed({ ...imports, rows }, query)
  })

  app.get('/import-monitoring/:id', operations.getImport, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getImport(tx, caller, params.id))),
  )

  app.post('/import-monitoring/:id/cancel', operations.cancelImport, async ({ caller, params }) => {
    const { organizationId } = caller
    const cancelled = await db.tenant(organizationId, async tx => {
      const { _id, status } = await getImport(tx, caller, params.id, 'FOR UPDATE')
      if (status !== 'queued' && status !== 'processing') {
        throw conflict(`The import has ended already: it is ${status.replaceAll('_', ' ')}.`)
      }
      await endImport(tx, organizationId, _id, { status: 'cancelled' })
      const job = await findActiveJob(tx, IMPORT_JOB, _id)
      if (job) await cancelJob(tx, job)
      await record(tx, caller, { action: 'cancel', resource: 'import', resourceId: _id })
      return getImport(tx, caller, _id)
    })
    return ok(cancelled, 'Import cancelled')
  })
}

async function getImport(tx: Queryable, caller: Caller, id: string, hold: '' | 'FOR UPDATE' = '') {
  const row = await findImport(tx, id, hold)
  return found('import monitoring', row && showImport(row, caller))
}
