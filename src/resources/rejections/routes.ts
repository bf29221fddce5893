import type { Queryable } from '../../../db/client.ts'
import { findDevice } from '../../../db/queries/devices.ts'
import { listAllRejections, listRejections } from '../../../db/queries/rejections.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { findVisibleUser } from '../../../db/queries/users.ts'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { page } from '../../http/envelope.ts'
import { found, notFound } from '../../http/errors.ts'
import { scopeOf } from '../../http/permissions.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

const seesPositions = ({ permissionDetails }: Caller) => scopeOf(permissionDetails, 'view/location') === 'all'

/** The rejected messages of a device or of a user's app. */
export function rejectionRoutes(app: App, { db }: Services): void {
  /** Answers a page of them. `check` throws if the caller may not see the subject. */
  async function show(
    caller: Caller,
    subjectId: string,
    { limit, cursor, reason = null }: { limit: number; cursor?: string; reason?: string | null },
    seesPlaces: boolean,
    check: (tx: Queryable) => Promise<unknown>,
  ) {
    const before = readCursor(cursor, operations.rejectionCursor)
    const { rejections, next, counts } = await db.tenant(caller.organizationId, async tx => {
      await check(tx)
      return listRejections(tx, subjectId, { hubIds: caller.hubIds, seesPlaces }, { limit, before, reason })
    })
    return { ...page(rejections as never[], { limit, nextCursor: next && writeCursor(next) }), counts }
  }

  app.get('/rejections', operations.listRejections, async ({ caller, query }) => {
    const { limit, reason = null } = query
    const before = readCursor(query.cursor, operations.rejectionCursor)
    const visibility = { hubIds: caller.hubIds, seesPlaces: seesPositions(caller) }
    const { rejections, next, counts } = await db.tenant(caller.organizationId, tx =>
      listAllRejections(tx, visibility, { limit, before, reason }),
    )
    return { ...page(rejections as never[], { limit, nextCursor: next && writeCursor(next) }), counts }
  })

  app.get('/device/:id/rejections', operations.listDeviceRejections, ({ caller, params, query }) =>
    show(caller, params.id, query, seesPositions(caller), async tx =>
      found('device', await findDevice(tx, params.id, caller.hubIds)),
    ),
  )

  // Whoever may see positions of others may see theirs.
  app.get('/user/:id/rejections', operations.listUserRejections, ({ caller, params, query }) =>
    show(caller, params.id, query, true, async tx => {
      if (params.id === caller.userId) return
      if (!seesPositions(caller)) throw notFound('user')
      found('user', await findVisibleUser(tx, { ...caller, scope: 'all' }, params))
    }),
  )
}
