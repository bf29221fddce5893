import type { Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { findDataType } from '../../../db/queries/data-types.ts'
import { countRemembered, type Undo, writeUndo } from '../../../db/queries/import-steps.ts'
import {
  endImport,
  findImport,
  IMPORT_SORTS,
  type Import,
  listFailedRows,
  listImports,
} from '../../../db/queries/imports.ts'
import { cancelJob, findActiveJob, insertJob } from '../../../db/queries/jobs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { createSemaphore } from '../../../fair/semaphore.ts'
import { record } from '../../http/audit.ts'
import { disposition } from '../../http/disposition.ts'
import { ok } from '../../http/envelope.ts'
import { conflict, forbidden, found, lacksPermission, RequestError } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import { createSpool, createSpoolRoom } from '../../http/spool.ts'
import { createStreams, type StreamLimits } from '../../http/streams.ts'
import type { App, Services } from '../../services.ts'
import { dataAccess } from '../data/access.ts'
import type { FailedRows } from './failed-rows.ts'
import type { FailedRowsTask } from './failed-rows-worker.ts'
import { createImportFiles } from './files.ts'
import { IMPORT_JOB } from './job.ts'
import { MAX_FAILED_ROWS_BYTES } from './limits.ts'
import { makeFailedRows } from './make-failed-rows.ts'
import { isUndoable, mayUndo, showImport, UNDO_NEEDS } from './present.ts'
import { receiveImport } from './receive.ts'
import * as operations from './schemas.ts'
import { UNDO_JOB } from './undo.ts'

/** For each download a thread with its own heap reads the import's file again. */
const MAKING = { max: 3, maxPerRoot: 2, maxWaiting: 16, waitMs: 30_000 }
/** Each download has a file on the disk, of up to a GiB. */
const READING: StreamLimits = {
  ...{ perAccount: 1, perOrganization: 8, total: 96 },
  ...{ waitMs: 30_000, takenWithinMs: 60_000 },
}
/** The limit for all files together; those in progress when it is reached may still grow to a GiB each. */
const MAX_SPOOLED_BYTES = 4 * 1024 ** 3

export function importRoutes(app: App, { db, config }: Services): void {
  const files = createImportFiles(config.dataDir)
  const making = createSemaphore(MAKING)
  const streams = createStreams(READING)
  const room = createSpoolRoom(MAX_SPOOLED_BYTES)

  app.post('/data/import', operations.importFile, async (request, reply) => {
    const accepted = await receiveImport(db, files, request, reply)
    if (accepted === null) return reply as never
    reply.code(202)
    return ok(accepted, 'Import accepted')
  })

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

  app.get('/import-monitoring/:id/failed-rows', operations.getFailedRows, async (request, reply) => {
    const { caller, params } = request
    const { organizationId } = caller
    const row = await db.tenant(organizationId, async tx => {
      await getImport(tx, caller, params.id)
      const row = (await findImport(tx, params.id)) as Import
      if (row.userId !== caller.userId) await checkSeesType(tx, caller, row)
      if (row.status === 'queued' || row.status === 'processing')
        throw conflict('This import is not done yet: ask for its failed rows when it has ended.')
      if (row.failed === 0) throw new RequestError('not-found', 'No row of this import failed.')
      return row
    })
    const { _id, format, mapping, countsSep, fileName } = row
    const failed = (after: number) => db.tenant(organizationId, tx => listFailedRows(tx, _id, after))
    return streams.send(request, reply, operations.FILE_TYPES[format], async leaving => {
      const task = { path: files.pathOf(_id), found: { format, mapping, countsSep } }
      const pieces = await spoolFailedRows(organizationId, task, failed, leaving)
      const name = `${fileName.replace(/\.[^.]*$/, '')} - failed rows.${format}`
      reply.header('content-disposition', disposition(name))
      return pieces
    }) as Promise<never>
  })

  /** The file is on disk until it is sent, so that a slow client blocks no other from being served. */
  async function spoolFailedRows(
    organizationId: string,
    task: FailedRowsTask,
    failed: FailedRows,
    leaving: AbortSignal,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const giveBack = await making.acquire(organizationId, { signal: leaving })
    const spool = await openSpool(organizationId, leaving).catch(error => {
      giveBack()
      throw error
    })
    void makeFailedRows(task, failed, spool.write, leaving)
      .then(
        () => spool.end(),
        error => spool.end({ error }),
      )
      .finally(giveBack)
    await spool.begun()
    return spool.pieces()
  }

  async function openSpool(organizationId: string, leaving: AbortSignal) {
    const place = room.take(organizationId)
    try {
      return createSpool(await files.openUnnamed(), place, MAX_FAILED_ROWS_BYTES, leaving)
    } catch (error) {
      place.giveBack()
      throw error
    }
  }

  app.post('/import-monitoring/:id/undo', operations.undoImport, async ({ caller, params }, reply) => {
    const undone = await db.tenant(caller.organizationId, tx => orderUndo(tx, caller, params.id))
    reply.code(202)
    return ok(undone, 'Undo begun')
  })

  app.post('/import-monitoring/:id/cancel', operations.cancelImport, async ({ caller, params }) => {
    const { organizationId } = caller
    const { cancelled, isFileFree } = await db.tenant(organizationId, async tx => {
      const { _id, status } = await getImport(tx, caller, params.id, 'FOR UPDATE')
      if (status !== 'queued' && status !== 'processing') {
        throw conflict(`The import has ended already: it is ${status.replaceAll('_', ' ')}.`)
      }
      const isFileFree = await endImport(tx, organizationId, _id, { status: 'cancelled' })
      const job = await findActiveJob(tx, IMPORT_JOB, _id)
      if (job) await cancelJob(tx, job)
      await record(tx, caller, { action: 'cancel', resource: 'import', resourceId: _id })
      return { cancelled: await getImport(tx, caller, _id), isFileFree }
    })
    if (isFileFree) await files.delete(cancelled._id)
    return ok(cancelled, 'Import cancelled')
  })
}

/** Begins the undo of an import, or goes on with one that has failed. */
async function orderUndo(tx: Queryable, caller: Caller, id: string) {
  const now = await reauthorize(tx, caller, 'import/data')
  await getImport(tx, now, id)
  const row = (await findImport(tx, id, 'FOR UPDATE')) as Import
  const lacking = UNDO_NEEDS.find(permission => !dataAccess(now, permission).grants(row.dataTypeId))
  if (lacking) throw lacksPermission(lacking, `Your role lacks ${lacking} for ${row.dataTypeName}.`)
  // Former values of fields that it may not see are put back as well.
  const isOwn = row.userId === now.userId
  if (!isOwn) await checkSeesType(tx, now, row, 'An undo puts back')
  if (!mayUndo(now, row.dataTypeId, isOwn))
    throw forbidden(
      `An undo puts back every field of ${row.dataTypeName}, and your role may not change all of them.`,
    )
  checkUndoable(row)
  const { organizationId, userId } = now
  const before = row.undo
  const left = { changed: 0, gone: 0, referred: 0, unfit: 0, forgotten: 0 }
  const undo: Undo = before ?? {
    ...{ status: 'queued', deleted: 0, restored: 0, error: null, finishedAt: null },
    left: { ...left, forgotten: row.created + row.updated - (await countRemembered(tx, id)) },
    startedAt: new Date(timeOfDay()).toISOString(),
  }
  await writeUndo(tx, organizationId, id, { ...undo, status: 'queued', error: null, finishedAt: null })
  const job = { kind: UNDO_JOB, organizationId, payload: { importId: id, userId }, uniqueKey: id }
  // The job that noted the end of the last attempt ends a moment later itself.
  if (!(await insertJob(tx, job))) throw conflict('The last attempt is still ending. Try again in a moment.')
  await record(tx, now, { action: 'undo', resource: 'import', resourceId: id })
  return getImport(tx, now, id)
}

function checkUndoable(row: Import): void {
  if (row.dryRun) throw conflict('This was a dry run: it has stored nothing.')
  if (row.status === 'queued' || row.status === 'processing')
    throw conflict('This import is not done yet: cancel it, or wait until it has ended.')
  if (isUndoable(row)) return
  throw conflict(
    row.undo
      ? 'This import is undone already, or about to be.'
      : 'Nothing of this import can be undone: it stored nothing, or is not remembered.',
  )
}

/** Throws unless the caller may see every field, because the `deed` is about values of all of them. */
async function checkSeesType(
  tx: Queryable,
  caller: Caller,
  { dataTypeId, dataTypeName }: Import,
  deed = 'Failed rows hold',
): Promise<void> {
  const access = dataAccess(caller, 'view/data')
  if (!access.grants(dataTypeId)) throw forbidden(`Your role may not see records of ${dataTypeName}.`)
  // A deleted type has no fields left to hide.
  const type = await findDataType(tx, caller.organizationId, { dataTypeId })
  if (type?.fields.some(({ key }) => access.hides(dataTypeId, key)))
    throw forbidden(`${deed} every field of ${dataTypeName}, and your role may not see all of them.`)
}

async function getImport(tx: Queryable, caller: Caller, id: string, hold: '' | 'FOR UPDATE' = '') {
  const row = await findImport(tx, id, hold)
  return found('import', row && showImport(row, caller))
}
