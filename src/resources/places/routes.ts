import { ok } from '../../http/envelope.ts'
import { invalid } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import { createPlaces } from './describe.ts'
import * as operations from './schemas.ts'

export function placeRoutes(app: App, { basemap, scheduler }: Services): void {
  const places = createPlaces(basemap, scheduler)

  app.get('/places', operations.findPlaces, async ({ query, caller, link }) => {
    const { lat, lng, search } = query
    const owner = caller?.userId ?? link?.id ?? ''
    const point = lat === undefined || lng === undefined ? null : { lat, lng }
    if (!point && (search === undefined || lat !== undefined || lng !== undefined))
      throw invalid(lat === undefined ? 'lat' : 'lng', 'Give "lat" and "lng", or "search".', 'required')
    return ok(
      search === undefined
        ? await places.describe(point ? [point] : [], owner)
        : await places.search(search, point, owner),
    )
  })

  app.post('/places', operations.describePoints, async ({ body, caller }) =>
    ok(await places.describe(body.points, caller.userId)),
  )
}
