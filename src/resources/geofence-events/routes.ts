import { GEOFENCE_EVENT_SORTS, listGeofenceEvents } from '../../../db/queries/geofence-events.ts'
import { lacksPermission } from '../../http/errors.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { scopeOf, visibilityOf } from '../../http/permissions.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

export function geofenceEventRoutes(app: App, { db }: Services): void {
  app.get('/geofence-events', operations.listGeofenceEvents, async ({ caller, query }) => {
    if (!scopeOf(caller.permissionDetails, 'view/location')) throw lacksPermission('view/location')
    const filter = {
      geofenceIds: splitIds(query.geofenceId),
      subjectIds: splitIds(query.subjectId),
      from: query.from === undefined ? undefined : new Date(query.from),
      to: query.to === undefined ? undefined : new Date(query.to),
    }
    const page = readPageRequest(query, GEOFENCE_EVENT_SORTS)
    const events = await db.tenant(caller.organizationId, tx =>
      listGeofenceEvents(tx, visibilityOf(caller), filter, page),
    )
    return listed(events, query)
  })
}
