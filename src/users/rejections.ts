import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import { listRejections } from '../../db/queries/rejections.ts'
import { findVisibleUser } from '../../db/queries/users.ts'
import { rejectionCursor, rejections } from '../devices/schemas.ts'
import { id, page, pageQuery, readPageCursor, writePageCursor } from '../envelope.ts'
import { invalid, notFound } from '../errors.ts'
import { scopeOf } from '../permissions.ts'
import type { App, Services } from '../services.ts'

/** What a user's app sent and was refused. Whoever may see positions of others may see theirs. */
export function userRejectionRoutes(app: App, { db }: Services): void {
  app.get(
    '/user/:id/rejections',
    {
      config: { access: 'view/location' },
      schema: {
        tags: ['Users'],
        summary: 'Points of the user that were refused',
        description:
          'The last 1,000 of 30 days, newest first, and how many there were by reason of all time.',
        params: z.object({ id }),
        querystring: pageQuery,
        response: { 200: rejections },
      },
    },
    async request => {
      const { caller, params } = request
      const { limit, cursor } = request.query
      const before = readPageCursor(cursor, rejectionCursor)
      if (before === null) throw invalid('cursor', 'This is not a cursor of this list.')
      const own = params.id === caller.userId
      if (!isUuid(params.id) || (!own && scopeOf(caller.permissionDetails, 'view/location') !== 'all')) {
        throw notFound('user')
      }
      const found = await db.tenant(caller.organizationId, async tx => {
        if (!own && !(await findVisibleUser(tx, caller, { id: params.id }))) throw notFound('user')
        return listRejections(tx, params.id, { limit, before: before ?? null })
      })
      const nextCursor = found.next && writePageCursor(found.next)
      return { ...page(found.rejections as never[], { limit, nextCursor }), counts: found.counts }
    },
  )
}
