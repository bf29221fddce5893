import type { WebSocket } from 'ws'
import type { ChangeEvent, Database } from '../../../db/client.ts'
import { withDemand } from '../../../db/demand.ts'
import { isAway } from '../../../db/errors.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { READY_BELOW_BYTES } from './limits.ts'
import { mayWatch, TOPICS, type TopicName } from './topics.ts'

/** A record that changes continuously is sent twice a second (contract 7.5). */
const SEND_EVERY_MS = 500
/** Records read in one statement. */
const READ_AT_ONCE = 200
/** Records that could not be sent to a socket yet, 40 bytes each; beyond that the client has to read the lists again. */
const MAX_PENDING = 10_000
/** From RFC 6455's registry: the client connects again and reads the lists again. */
const SERVICE_RESTART = 1012

interface Watcher {
  socket: WebSocket
  caller: Caller
  /** The requested topics; the role decides which of them are sent. */
  topics: readonly TopicName[]
  /** Records that changed since the last message, with their earlier state from the notifications. */
  pending: Map<TopicName, Map<string, Set<string>>>
}

/**
 * Sockets that watch records. A change arrives as a notification that names the record. Twice a second the changed
 * records are read once for the whole organization, and sent to the users who may see them. A socket that reads slowly
 * gets the newest state later, and not every state.
 */
export function createWatching(db: Database, onError: (error: unknown) => void) {
  const watchers = new Map<WebSocket, Watcher>()
  /** The organizations whose records are being read. */
  const sending = new Set<string>()

  const watched = ({ caller, topics }: Watcher) => topics.filter(name => mayWatch(caller, name))

  /** Sends pending records to the watchers of one organization. */
  async function send(organizationId: string, ready: readonly Watcher[]): Promise<void> {
    for (const name of Object.keys(TOPICS) as TopicName[]) {
      const asked = ready.flatMap(watcher => {
        const ids = watcher.pending.get(name)
        watcher.pending.delete(name)
        return ids ? [{ watcher, ids }] : []
      })
      const ids = [...new Set(asked.flatMap(({ ids }) => [...ids.keys()]))]
      for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
        const some = ids.slice(at, at + READ_AT_ONCE)
        const found = await read(organizationId, name, some).catch(error => {
          for (const { watcher, ids: own } of asked) keep(watcher, name, own, ids.slice(at))
          throw error
        })
        for (const { watcher, ids } of asked) {
          for (const id of some) {
            const before = ids.get(id)
            if (!before || !mayWatch(watcher.caller, name)) continue
            const message = found.get(id)?.(watcher.caller, [...before])
            if (message && watchers.get(watcher.socket) === watcher)
              watcher.socket.send(JSON.stringify(message))
          }
        }
      }
    }
  }

  /** Keeps records that could not be read, together with later changes. */
  function keep(
    watcher: Watcher,
    name: TopicName,
    states: ReadonlyMap<string, Set<string>>,
    left: readonly string[],
  ): void {
    for (const id of left) {
      for (const before of states.get(id) ?? []) add(watcher, name, id, before)
      if (states.has(id)) add(watcher, name, id, undefined)
    }
  }

  function add({ pending }: Watcher, name: TopicName, id: string, before: string | undefined): number {
    const ids = pending.get(name) ?? new Map<string, Set<string>>()
    const states = ids.get(id) ?? new Set()
    if (before !== undefined) states.add(before)
    ids.set(id, states)
    pending.set(name, ids)
    return ids.size
  }

  const read = (organizationId: string, name: TopicName, ids: readonly string[]) =>
    withDemand({ lane: 'reading', owner: organizationId }, () =>
      db.tenant(organizationId, async tx => TOPICS[name].read(tx, ids, organizationId)),
    )

  /** Organizations are handled independently, so that a slow or failing one does not affect others. */
  const timer = setInterval(() => {
    const ready = new Map<string, Watcher[]>()
    for (const watcher of watchers.values()) {
      const { organizationId } = watcher.caller
      if (sending.has(organizationId) || watcher.pending.size === 0) continue
      if (watcher.socket.bufferedAmount >= READY_BELOW_BYTES) continue
      ready.set(organizationId, [...(ready.get(organizationId) ?? []), watcher])
    }
    for (const [organizationId, ofOne] of ready) {
      sending.add(organizationId)
      void send(organizationId, ofOne)
        .catch(error => {
          onError(error)
          // While the database is busy or away the next attempt may succeed; otherwise the clients have to read again.
          if (!isAway(error)) restart(({ caller }) => caller.organizationId === organizationId)
        })
        .finally(() => sending.delete(organizationId))
    }
  }, SEND_EVERY_MS)

  function restart(which: (watcher: Watcher) => boolean): void {
    for (const watcher of [...watchers.values()]) {
      if (!which(watcher)) continue
      watchers.delete(watcher.socket)
      watcher.socket.close(SERVICE_RESTART, 'Connect and read again')
    }
  }

  return {
    /** Watches these topics from now on; an empty list ends it. Returns the topics that the caller may watch. */
    watch(socket: WebSocket, caller: Caller, topics: readonly TopicName[]): TopicName[] {
      if (topics.length === 0) {
        watchers.delete(socket)
        return []
      }
      const watcher: Watcher = { socket, caller, topics, pending: watchers.get(socket)?.pending ?? new Map() }
      watchers.set(socket, watcher)
      return watched(watcher)
    },

    /**
     * Applies changed permissions. If they differ, the socket gets its topics again, and its client reads the lists
     * again.
     */
    update(socket: WebSocket, caller: Caller): void {
      const watcher = watchers.get(socket)
      if (!watcher) return
      const same = JSON.stringify(reachOf(watcher.caller)) === JSON.stringify(reachOf(caller))
      watcher.caller = caller
      if (!same) socket.send(JSON.stringify({ type: 'watching', topics: watched(watcher) }))
    },

    forget(socket: WebSocket): void {
      watchers.delete(socket)
    },

    change({ topic, organizationId, recordId, before }: Extract<ChangeEvent, { kind: 'record' }>): void {
      for (const watcher of watchers.values()) {
        const name = watcher.topics.find(name => name === topic)
        if (!name || watcher.caller.organizationId !== organizationId) continue
        const waiting = add(watcher, name, recordId, typeof before === 'string' ? before : undefined)
        if (waiting <= MAX_PENDING) continue
        watchers.delete(watcher.socket)
        watcher.socket.close(SERVICE_RESTART, 'Connect and read again')
      }
    },

    /** Notifications may have been missed, so every watcher has to connect and read again. */
    restart: () => restart(() => true),

    close: () => clearInterval(timer),
  }
}

const reachOf = ({ roleId, permissionDetails, hubIds, teamIds }: Caller) => [
  roleId,
  permissionDetails,
  hubIds,
  teamIds,
]
