import { isUuid, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import {
  deleteTrackerProfile,
  findTrackerProfile,
  insertTrackerProfile,
  listTrackerProfiles,
  type NewTrackerProfile,
  TRACKER_PROFILE_SORTS,
  updateTrackerProfile,
} from '../../../db/queries/tracker-profiles.ts'
import { compileProfile } from '../../../ingest/profiles/own/compile.ts'
import type { ProfileReader } from '../../../ingest/profiles/profile.ts'
import { findBuiltIn } from '../../../ingest/profiles/readers.ts'
import { suggestProfile } from '../../../ingest/profiles/suggest/suggest.ts'
import { audited } from '../../http/audit.ts'
import { unreferenced } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found, invalid } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { choicesOf } from './choices.ts'
import { previewMessage, toMessage } from './preview.ts'
import * as operations from './schemas.ts'
import { listBuiltIn, showBuiltIn, showOwn } from './shown.ts'

/** The most positions of one preview, as many as a message may have. Each may have 16 attributes of 256 characters. */
const MAX_PREVIEWED = 1_000

export function trackerProfileRoutes(app: App, { db, scheduler }: Services): void {
  app.get('/tracker-profiles', operations.listTrackerProfiles, async ({ caller, query }) => {
    const page = readPageRequest(query, TRACKER_PROFILE_SORTS)
    const profiles = await db.tenant(caller.organizationId, tx =>
      listTrackerProfiles(tx, listBuiltIn(), page, (query._id ?? '').split(',')),
    )
    const rows = profiles.rows.map(row =>
      row.isBuiltIn ? found('profile', showBuiltIn(row._id)) : showOwn(row),
    )
    return listed({ ...profiles, rows }, query)
  })

  app.get('/tracker-profile/:id', operations.getTrackerProfile, async ({ caller, params }) => {
    const builtIn = showBuiltIn(params.id)
    return ok(builtIn ?? showOwn(await db.tenant(caller.organizationId, tx => getProfile(tx, params.id))))
  })

  app.post('/tracker-profile', operations.createTrackerProfile, async (request, reply) => {
    const profile = await audited(
      db,
      request,
      async (tx, { organizationId }) => {
        const id = await insertTrackerProfile(tx, organizationId, toStored(request.body))
        return { before: null, after: showOwn(await getProfile(tx, id)) }
      },
      'create/tracker-profile',
    )
    return created(reply, profile, 'Profile created')
  })

  app.put('/tracker-profile/:id', operations.replaceTrackerProfile, async request => {
    const { id } = request.params
    refuseBuiltIn(id)
    const profile = await audited(
      db,
      request,
      async (tx, { organizationId }) => {
        const before = await getProfile(tx, id)
        await updateTrackerProfile(tx, organizationId, before._id, toStored(request.body))
        return { before: showOwn(before), after: showOwn(await getProfile(tx, id)) }
      },
      'update/tracker-profile',
    )
    return ok(profile, 'Profile changed')
  })

  app.delete('/tracker-profile/:id', operations.deleteTrackerProfile, async request => {
    const { id } = request.params
    refuseBuiltIn(id)
    await audited(
      db,
      request,
      async (tx, { organizationId }) => {
        const before = await getProfile(tx, id)
        const bound = 'Devices or connections are still read by this profile. Give them another one first.'
        await unreferenced(bound, () => deleteTrackerProfile(tx, organizationId, id))
        return { before: showOwn(before), after: null }
      },
      'delete/tracker-profile',
    )
    return ok({ _id: id }, 'Profile deleted')
  })

  app.post('/tracker-profile/preview', operations.previewMessages, async ({ caller, body }) => {
    const { profileId, profile, messages } = body
    const reader = profile
      ? compileProfile(choicesOf(profile))
      : await db.tenant(caller.organizationId, tx => findReader(tx, profileId ?? ''))
    if (!reader) throw invalid('profileId', 'There is no such profile.', 'not-found')
    const receivedAt = timeOfDay()
    // A message may take some milliseconds, so each has a turn of its own.
    const previewed = await scheduler.walk(
      caller.organizationId,
      (function* () {
        const all = []
        let positions = 0
        for (const [index, message] of messages.entries()) {
          const previewed = previewMessage(reader, message, receivedAt)
          positions += previewed.points.length + previewed.rejected.length
          if (positions > MAX_PREVIEWED)
            throw invalid(
              `messages.${index}`,
              `The messages have more than ${MAX_PREVIEWED} positions together.`,
            )
          all.push(previewed)
          yield
        }
        return all
      })(),
    )
    return ok(previewed)
  })

  app.post('/tracker-profile/suggest', operations.suggestProfile, async ({ caller, body }) =>
    ok(
      await scheduler.walk(caller.organizationId, suggestProfile(body.messages.map(toMessage), timeOfDay())),
    ),
  )
}

const getProfile = async (tx: Queryable, id: string) =>
  found('profile', isUuid(id) ? await findTrackerProfile(tx, id) : null)

async function findReader(tx: Queryable, id: string): Promise<ProfileReader | null> {
  const own = isUuid(id) ? await findTrackerProfile(tx, id) : null
  return own ? compileProfile(own.choices) : findBuiltIn(id)
}

function refuseBuiltIn(id: string): void {
  if (findBuiltIn(id)) throw conflict('A built-in profile stays as it is. Create one of your own instead.')
}

const toStored = ({
  name,
  sampleMessages,
  ...choices
}: Parameters<typeof choicesOf>[0] & Omit<NewTrackerProfile, 'choices'>): NewTrackerProfile => ({
  name,
  sampleMessages,
  choices: choicesOf(choices),
})
