import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { isUuid, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import {
  deleteTrackingLink,
  findLinkTask,
  findTrackingLink,
  insertTrackingLink,
  listTrackingLinks,
  listVisibleSubjects,
  TRACKING_LINK_SORTS,
} from '../../../db/queries/tracking-links.ts'
import type { Visibility } from '../../../db/visibility.ts'
import { audited } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { found, invalid, lacksPermission, RequestError } from '../../http/errors.ts'
import { checkLife } from '../../http/key-life.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { scopeOf, visibilityOf } from '../../http/permissions.ts'
import { checkReferences } from '../../http/references.ts'
import type { App, Services } from '../../services.ts'
import { visibilityOf as taskVisibilityOf } from '../tasks/present.ts'
import { createLinkToken, findOpenLink, type OpenLink } from './open-links.ts'
import * as operations from './schemas.ts'
import { createTrackers } from './sockets.ts'
import { createTracked } from './tracked.ts'

const YEAR_MS = 366 * 24 * 3_600_000

declare module 'fastify' {
  interface FastifyRequest {
    /** The tracking link whose socket is about to be opened. */
    trackingLink: OpenLink | null
  }
}

export function trackingLinkRoutes(app: App, { db, live, config }: Services): void {
  const findTracked = createTracked(db.system)
  const trackers = live && createTrackers(app, db.system, listener => db.onChange(listener), live)
  app.decorateRequest('trackingLink', null)

  app.get('/tracking-links', operations.listTrackingLinks, async ({ caller, query }) => {
    const page = readPageRequest(query, TRACKING_LINK_SORTS)
    const filter = { subjectIds: splitIds(query.subjectId) }
    const seen = seenBy(caller)
    const links = await db.tenant(caller.organizationId, tx => listTrackingLinks(tx, seen, filter, page))
    return listed(links, query)
  })

  app.post('/tracking-link', operations.createTrackingLink, async (request, reply) => {
    const { subjectId, subjectType, trailMinutes, taskId } = request.body
    const expiresAt = new Date(request.body.expiresAt)
    const leftMs = expiresAt.getTime() - timeOfDay()
    if (leftMs <= 0) throw invalid('expiresAt', 'This is over already: give a time to come.', 'too-early')
    if (leftMs > YEAR_MS) throw invalid('expiresAt', 'A link lasts a year at most.', 'too-late')
    const { token, hash: tokenHash } = createLinkToken()
    const link = await audited(db, request, async (tx, caller) => {
      const { organizationId, userId } = caller
      checkLife(caller, expiresAt, 'link')
      const seen = seenBy(caller)
      const find = (ids: string[]) => listVisibleSubjects(tx, ids, subjectType, seen)
      await checkReferences({ what: subjectType, ids: { subjectId }, find })
      if (taskId !== null) await checkTask(tx, caller, taskId)
      const given = { organizationId, subjectId, userId, taskId, tokenHash, trailMinutes, expiresAt }
      const id = await insertTrackingLink(tx, given)
      return { before: null, after: found('tracking link', await findTrackingLink(tx, id, seen)) }
    })
    const url = `${config.publicUrl ?? `${request.protocol}://${request.host}`}/track/${token}`
    return created(reply, { ...link, token, url }, 'Tracking link created')
  })

  app.delete('/tracking-link/:id', operations.deleteTrackingLink, async request => {
    const { id } = request.params
    await audited(db, request, async (tx, caller) => {
      const before = found('tracking link', await findTrackingLink(tx, id, seenBy(caller)))
      await deleteTrackingLink(tx, caller.organizationId, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Tracking link revoked')
  })

  app.get(
    '/location-history/tracking/:token',
    { ...operations.getTracked, onRequest: keepPrivate },
    async ({ params }) =>
      ok(await findTracked(found('tracking link', await findOpenLink(db.system, params.token)))),
  )

  app.get(
    '/live/tracking/:token',
    {
      websocket: true,
      ...operations.openTracked,
      onRequest: keepPrivate,
      preHandler: async request => {
        const link = found('tracking link', await findOpenLink(db.system, request.params.token))
        const leave = trackers?.enter(link.id)
        if (!leave) throw new RequestError('rate-limited', 'This link is open in as many places as it may.')
        request.raw.socket.once('close', leave)
        request.trackingLink = link
      },
    },
    (socket, request: FastifyRequest) => {
      if (request.trackingLink) trackers?.add(socket, request.trackingLink)
    },
  )
}

/** The subjects whose links are the caller's business. */
function seenBy(caller: Caller): Visibility {
  if (scopeOf(caller.permissionDetails, 'view/location')) return visibilityOf(caller)
  throw lacksPermission('view/location')
}

/** 400 unless the caller may see the task, and it is to be done. */
async function checkTask(tx: Queryable, caller: Caller, taskId: string): Promise<void> {
  const isSeen = isUuid(taskId) && scopeOf(caller.permissionDetails, 'view/task')
  const task = isSeen ? await findLinkTask(tx, taskId, taskVisibilityOf(caller, 'view/task')) : null
  if (!task) throw invalid('taskId', 'There is no such task.', 'not-found')
  if (task.isDone) throw invalid('taskId', 'This task is done: give one that is to be done.', 'already-done')
}

/** The address is the secret: nobody is told where a reader came from. */
const keepPrivate: onRequestHookHandler = (_request, reply, done) => {
  reply.header('referrer-policy', 'no-referrer')
  done()
}
