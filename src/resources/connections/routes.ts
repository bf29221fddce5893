import { setTimeout as pause } from 'node:timers/promises'
import { newId, type Queryable } from '../../../db/client.ts'
import { isDuplicate, isTransient } from '../../../db/errors.ts'
import { ALL_HUBS } from '../../../db/hub-rule.ts'
import {
  CONNECTION_SORTS,
  type Connection,
  deleteConnection,
  findConnection,
  findConnectionSecrets,
  insertConnection,
  listConnections,
  updateConnection,
  updateConnectionKey,
} from '../../../db/queries/connections.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { listMessages } from '../../../db/queries/tracker-messages.ts'
import { findTrackerProfile, listKnownProfiles } from '../../../db/queries/tracker-profiles.ts'
import {
  ADOPTED_AT_ONCE,
  type Adopted,
  adoptKnown,
  adoptReferences,
  deleteSomeKept,
  keepsForDevices,
  listUnknown,
} from '../../../db/queries/unknown-references.ts'
import { retryConflict } from '../../../db/retry.ts'
import { createConnectionKey, createDeviceKey } from '../../../ingest/identity/authenticate.ts'
import { findBuiltIn } from '../../../ingest/profiles/readers.ts'
import { audited, record } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { found, invalid, lacksPermission, RequestError } from '../../http/errors.ts'
import { listed, listedWhole, readPageRequest } from '../../http/lists.ts'
import { scopeOf } from '../../http/permissions.ts'
import { checkReferences } from '../../http/references.ts'
import type { App, Services } from '../../services.ts'
import { readReached } from '../devices/reached.ts'
import { changeBroker, checkBroker } from './broker-settings.ts'
import * as operations from './schemas.ts'
import { createBrokerSecrets } from './secrets.ts'
import { describeConnection } from './setup.ts'

const ADOPT_ATTEMPTS = 5
/** Adoption looks for points every 5 s. */
const ADOPTED_WITHIN_MS = 6_000
const LOOK_EVERY_MS = 250

export function connectionRoutes(app: App, { db, config, mqtt }: Services): void {
  const sealed = createBrokerSecrets(config.jwtSecret)

  app.get('/connections', operations.listConnections, async ({ caller, query }) => {
    const page = readPageRequest(query, CONNECTION_SORTS)
    return listed(
      await db.tenant(caller.organizationId, tx => listConnections(tx, caller.hubIds, page)),
      query,
    )
  })

  app.get('/connection/:id', operations.getConnection, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getConnection(tx, params.id, caller))),
  )

  app.get('/connection/:id/setup', operations.getConnectionSetup, async request => {
    const { caller, params } = request
    const found = await db.tenant(caller.organizationId, async tx => {
      const connection = await getConnection(tx, params.id, caller)
      const { profileId } = connection
      const own = findBuiltIn(profileId) ? null : await findTrackerProfile(tx, profileId)
      return { ...connection, topic: own?.choices.topic ?? null }
    })
    return ok(describeConnection(found, readReached(request, { config, mqtt })))
  })

  app.post('/connection', operations.createConnection, async (request, reply) => {
    const { broker: given, profileId, ...rest } = request.body
    const { key, hash } = createConnectionKey()
    const id = newId()
    await audited(db, request, async (tx, caller) => {
      checkKind(rest.kind, { headerName: rest.headerName, broker: given })
      if (rest.kind === 'broker' && !given) throw invalid('broker', 'This is missing.', 'required')
      await checkMayUse(tx, caller, { ...rest, profileId })
      const { password = null, clientKey = null, ...broker } = given ?? {}
      const secrets = { password, clientKey }
      if (given) checkBroker({ ...given, ...broker }, secrets)
      await insertConnection(tx, {
        ...rest,
        ...profileOf(profileId),
        id,
        organizationId: caller.organizationId,
        keyHash: hash,
        broker: given && (broker as typeof given),
        secrets: sealed.seal(secrets, id),
      })
      return { before: null, after: settingsOf(await getConnection(tx, id)) }
    })
    const connection = await db.tenant(request.caller.organizationId, tx => getConnection(tx, id))
    return created(reply, { ...connection, key }, 'Connection created')
  })

  app.patch('/connection/:id', operations.updateConnection, async request => {
    const { broker: given, profileId, ...change } = request.body
    const { id } = request.params
    await audited(db, request, async (tx, caller) => {
      const before = await getConnection(tx, id, caller)
      checkKind(before.kind, { headerName: change.headerName ?? null, broker: given ?? null })
      await checkMayUse(tx, caller, { ...change, profileId }, before)
      await updateConnection(tx, caller.organizationId, id, {
        ...change,
        ...(profileId === undefined ? {} : profileOf(profileId)),
        ...(given && before.broker ? await changed(tx, id, before.broker, given) : {}),
      })
      return { before: settingsOf(before), after: settingsOf(await getConnection(tx, id)) }
    })
    const connection = await db.tenant(request.caller.organizationId, tx => getConnection(tx, id))
    return ok(connection, 'Connection changed')
  })

  async function changed(
    tx: Queryable,
    id: string,
    before: NonNullable<Connection['broker']>,
    given: Parameters<typeof changeBroker>[1],
  ) {
    const stored = await findConnectionSecrets(tx, id)
    const after = changeBroker({ broker: before, secrets: sealed.open(stored, id) }, given)
    checkBroker(after.broker, after.secrets)
    return { broker: after.broker, secrets: sealed.seal(after.secrets, id) }
  }

  app.post('/connection/:id/rotate-key', operations.rotateKey, async request => {
    const { key, hash } = createConnectionKey()
    const { id } = request.params
    const rotate = async (tx: Queryable, caller: Caller) => {
      const before = settingsOf(await getConnection(tx, id, caller))
      await updateConnectionKey(tx, caller.organizationId, id, hash)
      return { before, after: settingsOf(await getConnection(tx, id)) }
    }
    await audited(db, request, rotate, 'rotate-key')
    const connection = await db.tenant(request.caller.organizationId, tx => getConnection(tx, id))
    return ok({ ...connection, key }, 'Key replaced')
  })

  app.delete('/connection/:id', operations.deleteConnection, async request => {
    const { id } = request.params
    const { organizationId } = request.caller
    await db.tenant(organizationId, tx => getConnection(tx, id, request.caller))
    await letAdopt(organizationId, id)
    while (await db.tenant(organizationId, tx => deleteSomeKept(tx, id)));
    await audited(db, request, async (tx, caller) => {
      if (await keepsForDevices(tx, id)) throw adopting()
      const before = settingsOf(await getConnection(tx, id, caller))
      await deleteConnection(tx, caller.organizationId, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Connection deleted')
  })

  /** Hands over what belongs to devices by now, and waits until it is in their history: whoever has the role ingest appends it. */
  async function letAdopt(organizationId: string, id: string): Promise<void> {
    const until = performance.now() + ADOPTED_WITHIN_MS
    for (;;) {
      while (await db.tenant(organizationId, tx => adoptKnown(tx, organizationId, id)));
      if (!(await db.tenant(organizationId, tx => keepsForDevices(tx, id)))) return
      if (performance.now() > until) throw adopting()
      await pause(LOOK_EVERY_MS)
    }
  }

  app.get('/connection/:id/unknown', operations.listUnknown, async ({ caller, params }) => {
    const references = await db.tenant(caller.organizationId, async tx => {
      const { _id } = await getConnection(tx, params.id, caller)
      return listUnknown(tx, _id)
    })
    const shown = references.map(one => (seesPositions(caller) ? one : { ...one, lastPoint: null }))
    return listedWhole(shown)
  })

  app.post('/connection/:id/adopt', operations.adopt, async ({ body, caller, params }) => {
    const { references } = body
    const { organizationId, userId } = caller
    const given = await db.tenant(organizationId, async tx => {
      const { _id, hubId } = await getConnection(tx, params.id, caller)
      if (!scopeOf(caller.permissionDetails, 'create/device')) throw lacksPermission('create/device')
      return { organizationId, connectionId: _id, hubId, keyBy: userId, visible: caller.hubIds }
    })
    const adopted: Adopted[] = []
    // Each may have a hundred points, so they are handed over in steps.
    for (let from = 0; from < references.length; from += ADOPTED_AT_ONCE) {
      const some = references.slice(from, from + ADOPTED_AT_ONCE)
      adopted.push(...(await adoptSome(caller, given, some)))
    }
    if (adopted.length === 0)
      throw invalid('references.0', 'No message of this reference is kept.', 'not-found')
    return ok(adopted, 'References adopted')
  })

  function adoptSome(
    caller: Caller,
    given: Parameters<typeof adoptReferences>[1],
    references: readonly string[],
  ): Promise<Adopted[]> {
    const work = async (tx: Queryable) => {
      const found = await adoptReferences(tx, given, references, () => createDeviceKey().hash)
      const devices = found.filter(one => one !== null)
      if (devices.length === 0) return []
      const changes = { references: { to: devices.map(({ reference }) => reference) } }
      const resourceId = given.connectionId
      await record(tx, caller, { action: 'adopt', resource: 'connection', resourceId, changes })
      return devices
    }
    // Somebody else may give a device one of the references at the same moment.
    const isConflict = (error: unknown) => isDuplicate(error) || isTransient(error)
    return retryConflict(() => db.tenant(caller.organizationId, work), ADOPT_ATTEMPTS, isConflict)
  }

  app.get('/connection/:id/messages', operations.listMessages, async ({ caller, params }) => {
    const messages = await db.tenant(caller.organizationId, async tx => {
      const { _id } = await getConnection(tx, params.id, caller)
      return listMessages(tx, _id)
    })
    const shown = messages.map(one => (seesPositions(caller) ? one : { ...one, payload: null, query: null }))
    return listedWhole(shown)
  })
}

const adopting = () =>
  new RequestError('unavailable', 'Adopted points are on their way to the history. Try again in a moment.')

/** Messages and last points hold positions, also of devices of other hubs. */
const seesPositions = ({ permissionDetails, hubIds }: Caller) =>
  scopeOf(permissionDetails, 'view/location') === 'all' && hubIds === ALL_HUBS

const getConnection = async (tx: Queryable, id: string, caller?: Caller) =>
  found('connection', await findConnection(tx, id, caller?.hubIds ?? null))

/** The settings by people; everything else changes by itself and is not audited. */
function settingsOf(connection: Connection) {
  const { state, lastMessageAt, messagesPerMinute, lastError, counts, ...settings } = connection
  return settings
}

const profileOf = (profileId: string) =>
  findBuiltIn(profileId)
    ? { builtInProfile: profileId, ownProfile: null }
    : { builtInProfile: null, ownProfile: profileId }

function checkKind(
  kind: Connection['kind'],
  { headerName, broker }: { headerName: string | null; broker: unknown },
): void {
  if (kind !== 'broker' && broker !== null)
    throw invalid('broker', 'This is only for a connection of the kind broker.')
  if (kind !== 'http' && headerName !== null)
    throw invalid('headerName', 'This is only for a connection of the kind http.')
}

async function checkMayUse(
  tx: Queryable,
  caller: Caller,
  given: { profileId?: string | undefined; hubId?: string | null; createDevices?: boolean },
  before?: Connection,
): Promise<void> {
  const { hubId, profileId, createDevices } = given
  const ownProfile = typeof profileId === 'string' && !findBuiltIn(profileId) ? profileId : null
  await checkReferences(
    {
      what: 'hub',
      ids: { hubId },
      find: ids => listKnownHubs(tx, ids, caller.hubIds),
      present: [before?.hubId],
    },
    { what: 'profile', ids: { profileId: ownProfile }, find: ids => listKnownProfiles(tx, ids) },
  )
  // It would create devices for somebody who may not.
  if (createDevices && !before?.createDevices && !scopeOf(caller.permissionDetails, 'create/device'))
    throw lacksPermission('create/device')
}
