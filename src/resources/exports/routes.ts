import { open, rm } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUuid, type Queryable } from '../../../db/client.ts'
import {
  countUnfinishedExports,
  EXPORT_LOG_SORTS,
  type ExportFormat,
  type ExportLog,
  type ExportOrder,
  findExportLog,
  insertExportLog,
  listExportLogs,
} from '../../../db/queries/export-logs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { createSemaphore } from '../../../fair/semaphore.ts'
import { differences, record, recordHourly } from '../../http/audit.ts'
import { disposition } from '../../http/disposition.ts'
import { ok } from '../../http/envelope.ts'
import { conflict, found, RequestError } from '../../http/errors.ts'
import { whenAborted } from '../../http/leaving.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import { createSpoolRoom } from '../../http/spool.ts'
import { createStreams } from '../../http/streams.ts'
import type { App, Services } from '../../services.ts'
import { EXPORTABLES } from './exportables.ts'
import { createExportFiles } from './files.ts'
import { orderExport } from './job.ts'
import * as operations from './schemas.ts'
import { FILE_TYPES } from './schemas.ts'
import { ExportFailure, type Source } from './source.ts'
import { visibleOf } from './visible.ts'
import { writeExport } from './write.ts'

/** Exports written for direct answers; each may have a thread with 60 MB. */
const MAKING = { max: 3, maxPerRoot: 2, maxWaiting: 16, waitMs: 10_000 }
/** The files of direct answers that clients are still reading; a thousand records may have 256 MiB. */
const MAX_SPOOLED_BYTES = 4 * 1024 ** 3
/** Unfinished exports of an organization, which are worked on one at a time. */
const MAX_UNFINISHED = 20
/** The resources' names in permissions. */
const AUDITED = { data: 'data', tasks: 'task' } as const
const PIECE_BYTES = 64 * 1024

export function exportRoutes(app: App, { db, config }: Services): void {
  const files = createExportFiles(config.dataDir)
  const making = createSemaphore(MAKING)
  const streams = createStreams()
  const room = createSpoolRoom(MAX_SPOOLED_BYTES)

  app.post('/data/export', operations.exportData, (request, reply) => {
    const { dataTypeId, format, filter, fields, places } = request.body
    const order = { resource: 'data', dataTypeId, format, filter, fields: fields ?? null, places } as const
    return exportAll(request, reply, order) as never
  })

  app.post('/tasks/export', operations.exportTasks, (request, reply) => {
    const { format, filter, fields } = request.body
    const order = {
      ...({ resource: 'tasks', dataTypeId: null, places: 'text' } as const),
      ...{ format, filter, fields: fields ?? null },
    }
    return exportAll(request, reply, order) as never
  })

  app.get('/tasks/export-log', operations.listExportLogs, async ({ caller, query }) => {
    const { resource, status, format } = query
    const [dataTypeId, userId] = [query.dataTypeId, query.userId]
    const page = readPageRequest(query, EXPORT_LOG_SORTS)
    // A text that is no identifier matches nothing.
    if ([dataTypeId, userId].some(id => id !== undefined && !isUuid(id)))
      return listed({ rows: [], next: null, total: 0 }, query)
    const filter = { resource, status, format, dataTypeId, userId }
    return listed(
      await db.tenant(caller.organizationId, tx => listExportLogs(tx, visibleOf(caller), filter, page)),
      query,
    )
  })

  app.get('/tasks/export-log/:id', operations.getExportLog, async ({ caller, params }) => {
    const row = await db.tenant(caller.organizationId, tx => findExportLog(tx, visibleOf(caller), params.id))
    return ok(found('export log', row).log)
  })

  app.get('/tasks/export-log/:id/file', operations.getExportFile, async (request, reply) => {
    const { caller, params } = request
    const { log, keys } = found(
      'export log',
      await db.tenant(caller.organizationId, tx => findExportLog(tx, visibleOf(caller), params.id)),
    )
    if (log.status === 'queued' || log.status === 'processing')
      throw conflict('This export is not completed yet.')
    if (log.fileBytes === null) throw new RequestError('not-found', 'No file of this export is kept.')
    // The role may have lost permissions that the file needs.
    await EXPORTABLES[log.resource].checkFile(db, caller, log.dataType?._id ?? null, keys)
    const order = { ...log, dataTypeId: log.dataType?._id ?? null }
    return sendFile(request, reply, log.format, log.fileName, async () => {
      const file = await open(files.path(log._id, log.format), 'r')
      try {
        await db.tenant(caller.organizationId, tx => auditTaken(tx, caller, order, log._id))
        return file
      } catch (error) {
        await file.close()
        throw error
      }
    })
  })

  /** Answers with the file, or creates it in the background. */
  async function exportAll(request: FastifyRequest, reply: FastifyReply, order: ExportOrder) {
    const { caller } = request
    const source = await EXPORTABLES[order.resource].open(db, caller, order)
    const ids = await source.findFew(config.exportDirectLimit)
    const log = { ...order, userId: caller.userId, fileName: fileNameOf(source, order.format) }
    if (ids === null) {
      const noted = await note(request, order, async tx => {
        if ((await countUnfinishedExports(tx)) >= MAX_UNFINISHED)
          throw new RequestError('rate-limited', 'Too many exports wait already: order it when one is done.')
        const id = await insertExportLog(tx, caller.organizationId, log, null)
        await orderExport(tx, caller.organizationId, id)
        return id
      })
      reply.code(202)
      return ok(noted, 'The export is made in the background')
    }
    return sendFile(request, reply, order.format, log.fileName, async leaving => {
      const done = await making.acquire(caller.organizationId, { signal: leaving })
      const draft = await files.draft(request.id)
      try {
        leaving.throwIfAborted()
        const place = room.take(caller.organizationId)
        whenAborted(leaving, place.giveBack)
        const { format } = order
        const { count, bytes } = await writeExport(draft, { source, format, ids, signal: leaving })
        place.add(bytes)
        const made = { keys: source.keys(format), count }
        // A repeated request with the same Idempotency-Key is one export whose file is taken twice.
        if (request.isRepeated)
          await db.tenant(caller.organizationId, tx => auditTaken(tx, caller, log, null))
        else await note(request, order, tx => insertExportLog(tx, caller.organizationId, log, made))
        // The draft is unlinked, so the file is gone once its reader closes it.
        return await open(draft, 'r')
      } catch (error) {
        if (error instanceof ExportFailure) throw new RequestError('unimportable', error.message)
        throw error
      } finally {
        await rm(draft, { force: true })
        done()
      }
    })
  }

  /** Records an export in the export log and in the audit log. */
  function note(
    { caller }: FastifyRequest,
    order: ExportOrder,
    insert: (tx: Queryable) => Promise<string>,
  ): Promise<ExportLog> {
    return db.tenant(caller.organizationId, async tx => {
      const id = await insert(tx)
      await audit(tx, caller, order, id)
      return found('export log', await findExportLog(tx, null, id)).log
    })
  }

  function sendFile(
    request: FastifyRequest,
    reply: FastifyReply,
    format: ExportFormat,
    name: string,
    openFile: (leaving: AbortSignal) => ReturnType<typeof open>,
  ): Promise<never> {
    return streams.send(request, reply, FILE_TYPES[format], async leaving => {
      const file = await openFile(leaving).catch(error => {
        if (error.code !== 'ENOENT') throw error
        throw new RequestError('not-found', 'No file of this export is kept.')
      })
      // Not closed in the generator, because a generator that nobody begins to read never ends.
      whenAborted(leaving, () => void file.close().catch(() => {}))
      leaving.throwIfAborted()
      reply.header('content-disposition', disposition(name))
      reply.header('content-length', (await file.stat()).size)
      return (async function* () {
        for (;;) {
          const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, null)
          if (bytesRead === 0) return
          yield buffer.subarray(0, bytesRead)
        }
      })()
    }) as Promise<never>
  }
}

/** Audits an export: the user and the fields, without the filter's values. */
function audit(tx: Queryable, caller: Caller, order: ExportOrder, resourceId: string): Promise<void> {
  return record(tx, caller, entryOf(order, resourceId))
}

/** Audits a download of an export's file. */
function auditTaken(
  tx: Queryable,
  caller: Caller,
  order: ExportOrder & { fileName: string },
  resourceId: string | null,
): Promise<void> {
  return recordHourly(tx, caller, entryOf(order, resourceId, { fileName: order.fileName }))
}

const entryOf = (
  { resource, format, dataTypeId, fields }: ExportOrder,
  resourceId: string | null,
  more: { fileName?: string } = {},
) => ({
  ...{ action: 'export', resource: AUDITED[resource], resourceId },
  changes: differences(null, { format, dataTypeId, fields, ...more }),
})

const fileNameOf = ({ name }: Source, format: ExportFormat) =>
  `${name.replaceAll(/[\p{Cc}"*/:<>?\\|]/gu, ' ').trim() || 'Export'}.${format}`
