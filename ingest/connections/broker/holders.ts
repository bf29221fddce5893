import { randomUUID } from 'node:crypto'
import type { Database } from '../../../db/client.ts'
import { withDemand } from '../../../db/demand.ts'
import {
  type HeldConnection,
  holdConnections,
  LEASE_MS,
  listHeldConnections,
  releaseConnections,
  updateSubscribed,
} from '../../../db/queries/connection-leases.ts'
import type { Resolve } from '../../../fair/public-addresses.ts'
import { learnRoots } from '../../../fair/roots.ts'
import type { Profiles } from '../../profiles/profiles.ts'
import type { TrackerConnection } from '../connection.ts'
import type { ClientServices } from './client.ts'
import { type Holder, holdBroker } from './holder.ts'
import type { BrokerSecrets } from './settings.ts'

/**
 * The connections to other brokers that this process holds. A lease in the database says who holds one: it is renewed
 * all the time, and taken by another process when its time is over, because the holder has died or cannot reach the
 * database. Such a holder keeps what is open (its points may still become durable), but opens nothing new.
 */
const LOOK_EVERY_MS = 2_000
const MAX_HELD = 500
const RELEASE_WITHIN_MS = 2_000
const SEALED_BY_ANOTHER_SECRET =
  "The server's own secret has changed, so the broker's cannot be read. Enter them again."

export function holdBrokers(options: {
  db: Database
  services: ClientServices
  profiles: Profiles
  allowPrivate: boolean
  resolve?: Resolve
  openSecrets: (stored: string | null, connectionId: string) => BrokerSecrets | null
  onError: (error: unknown, doing: string) => void
}): { close(): Promise<void> } {
  const { db, services, profiles, onError } = options
  const processId = randomUUID()
  /** With what each was opened, to see whether that has changed. Without a holder it could not be opened. */
  const held = new Map<string, { holder: Holder | null; settings: string }>()
  let leaseUntil = 0
  let closed = false

  async function look(): Promise<void> {
    const begun = performance.now()
    const ids = await holdConnections(db.system, processId, MAX_HELD)
    leaseUntil = begun + LEASE_MS
    const rows = new Map((await listHeldConnections(db.system, ids)).map(row => [row.id, row]))
    learnRoots(rows.values())
    for (const [id, { holder }] of held) {
      if (rows.has(id)) continue
      held.delete(id)
      // It is stopped, held by another process, or deleted: then its session at the broker ends as well.
      holder?.close({ forget: !(await exists(db, id)) })
    }
    for (const row of rows.values()) await follow(row)
  }

  /** Opens a connection that is new, and opens one anew whose settings have changed. */
  async function follow(row: HeldConnection): Promise<void> {
    const profile = await profiles.use(row.profileId)
    const topics = row.broker.topics.length > 0 ? row.broker.topics : [profile.reader?.topic ?? '#']
    const { keyHash: _, subscribed: __, ...rest } = row
    const settings = JSON.stringify({ ...rest, topics })
    const known = held.get(row.id)
    const isSame = known?.settings === settings
    if ((isSame && known.holder) || closed) return
    known?.holder?.close({ forget: false })
    const connection = toTrackerConnection(row, profile)
    const holder = open(connection, row, topics)
    // It is tried again with each look, as the server's secret in a file may come back. The journal hears it once.
    if (!holder && !isSame) services.intake.journal.tell(connection, 'failed', SEALED_BY_ANOTHER_SECRET)
    held.set(row.id, { holder, settings })
  }

  /** Null if its secrets cannot be opened. */
  function open(connection: TrackerConnection, row: HeldConnection, topics: string[]): Holder | null {
    const { id, broker } = row
    const secrets = options.openSecrets(row.secrets, id)
    if (!secrets) return null
    return holdBroker({
      ...{ connection, services, subscribed: row.subscribed },
      settings: { broker, secrets, topics, clientId: broker.clientId ?? `fieldline-${id}` },
      ...{ allowPrivate: options.allowPrivate, resolve: options.resolve },
      mayConnect: () => performance.now() < leaseUntil,
      onSubscribed() {
        updateSubscribed(db.system, id, topics).catch(error =>
          onError(error, 'writing the topics of a connection'),
        )
      },
    })
  }

  let looking: Promise<void> | null = null
  let isDue = false
  /** Looks now, or again after the look that is under way. */
  function lookSoon(): void {
    isDue = true
    if (looking || closed) return
    isDue = false
    looking = withDemand({ lane: 'background' }, look)
      .catch(error => onError(error, 'holding connections to other brokers'))
      .finally(() => {
        looking = null
        if (isDue) lookSoon()
      })
  }
  const timer = setInterval(lookSoon, LOOK_EVERY_MS)
  const stopListening = db.onChange(({ kind }) => {
    if (['connection', 'tracker-profile', 'organization', 'resync'].includes(kind)) lookSoon()
  })
  lookSoon()

  return {
    async close() {
      closed = true
      clearInterval(timer)
      stopListening()
      await looking
      for (const { holder } of held.values()) holder?.close({ forget: false })
      await release(
        releaseConnections(db.system, processId).catch(error =>
          onError(error, 'releasing connections to other brokers'),
        ),
      )
    },
  }
}

const exists = async (db: Database, id: string): Promise<boolean> =>
  (await db.system.query('SELECT FROM connections WHERE id = $1', [id])).length > 0

/** Another process takes over at once. A database that is away does not delay the end. */
async function release(released: Promise<unknown>): Promise<void> {
  let late: NodeJS.Timeout | undefined
  const waited = new Promise<void>(resolve => {
    late = setTimeout(resolve, RELEASE_WITHIN_MS)
  })
  await Promise.race([released, waited])
  clearTimeout(late)
}

/** A tracker connection of the kind `broker`. */
function toTrackerConnection(
  { id, organizationId, keyHash, profileId }: HeldConnection,
  profile: TrackerConnection['profile'],
): TrackerConnection {
  return {
    ...{ kind: 'connection', id, organizationId, keyHash, profileId },
    ...{ way: 'broker', headerName: null, profile },
  }
}
