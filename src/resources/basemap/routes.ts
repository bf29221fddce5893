import { findBasemapChoice, updateBasemapUrl } from '../../../db/queries/organizations.ts'
import { createSemaphore } from '../../../fair/semaphore.ts'
import { ArchiveCutOff } from '../../basemap/archive.ts'
import type { ChosenBasemap } from '../../basemap/chosen.ts'
import { examineArchive } from '../../basemap/public-archive.ts'
import { audited } from '../../http/audit.ts'
import { ok } from '../../http/envelope.ts'
import { conflict, forbidden, invalid } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

/** Each examination asks another server, for up to ten seconds. */
const EXAMINED_AT_ONCE = 2

export function basemapRoutes(app: App, { db, config, basemap }: Services): void {
  const { basemapCacheMb: keptMb } = config
  const examining = createSemaphore({
    max: EXAMINED_AT_ONCE,
    maxPerRoot: 1,
    maxWaiting: EXAMINED_AT_ONCE,
    waitMs: 10_000,
  })

  async function show(organizationId: string) {
    const { about = null, isFixed } = basemap as ChosenBasemap
    const choice = isFixed ? null : await findBasemapChoice(db.system)
    const mayChoose = choice?.organizationId === organizationId
    const tiles = about && { ...about, bounds: [...about.bounds] }
    return { url: mayChoose ? choice.url : null, mayChoose, isFixed, keptMb, tiles }
  }

  async function examine(url: string, owner: string): Promise<void> {
    const leave = await examining.acquire(owner)
    try {
      await examineArchive(url)
    } catch (error) {
      if (error instanceof ArchiveCutOff)
        throw invalid(
          'url',
          'The archive at this address is shorter than its header says: a copy has stopped in the middle. Put the whole file there.',
        )
      // The reason stays out of the answer: it would tell what answers inside of the server's network.
      throw invalid(
        'url',
        'No archive can be read at this address. A server at a public address has to answer ranges of a PMTiles archive, version 3.',
      )
    } finally {
      leave()
    }
  }

  app.get('/basemap', operations.getBasemap, async ({ caller }) => ok(await show(caller.organizationId)))

  app.patch('/basemap', operations.chooseBasemap, async request => {
    const { caller, body } = request
    if (basemap?.isFixed) throw conflict('The environment of the server names its basemap (BASEMAP).')
    const choice = await findBasemapChoice(db.system)
    if (choice?.organizationId !== caller.organizationId)
      throw forbidden('Only the first organization of this server may choose its basemap.')
    if (body.url !== null) await examine(body.url, caller.organizationId)
    await audited(db, request, async (tx, { organizationId: _id }) => {
      await updateBasemapUrl(tx, _id, body.url)
      return { before: { _id, basemapUrl: choice.url }, after: { _id, basemapUrl: body.url } }
    })
    await basemap?.follow()
    return ok(await show(caller.organizationId), 'Basemap chosen')
  })
}
