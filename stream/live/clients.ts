import { timeOfDay } from '../../db/clock.ts'
import type { Visibility } from '../../db/visibility.ts'
import { backfill, hasRead } from './backfill.ts'
import { type Cursor, readCursor } from './cursor.ts'
import { createGroup, type Group, type LiveClient, sendChange, takeRelevant } from './groups.ts'
import type { Position } from './position.ts'
import type { LivePositions } from './positions.ts'
import type { Filter } from './view.ts'

/**
 * Sends positions to live clients, in three phases:
 *
 * 1. Catching up: another process may have read further than this one when it wrote the client's cursor. The client
 *    waits until this process has reached it, and never sees a subject jump back. After 5 s it gets everything.
 * 2. Backfill (`backfill.ts`): the client gets the changes since its cursor, and the subjects that have left its view are
 *    named as gone. Without a cursor of this view it gets everything.
 * 3. Streaming: four times a second, changed positions go to the clients whose view contains them; clients with the same
 *    view share one serialized frame (`groups.ts`). A client that reads too slowly is skipped. When it has caught up, it
 *    gets the newest state of the positions it missed, so no queue ever grows.
 *
 * A frame's cursor promises that every earlier change has been sent.
 */
export interface LiveClients {
  /** Sends a client a view, which replaces its former one. A cursor of this view (`since`) makes it continue from there. */
  subscribe(client: LiveClient, filter: Filter, since: string | null): void
  /** Stops sending to the client. */
  unsubscribe(client: LiveClient): void
  /** Applies a changed visibility: the client loses the subjects it may no longer see, and gets those it now may see. */
  changeVisibility(client: LiveClient, visibility: Visibility): void
  readonly count: number
  close(): void
}

const TICK_MS = 250
/** How long a client waits for this process to read as far as its cursor; then it gets a snapshot. */
const CATCH_UP_WITHIN_MS = 5_000
/** With more waiting bytes than this a client is skipped; a frame of 500 positions is about 100 KiB. */
const SLOW_FROM_BYTES = 256 * 1024

export function createLiveClients(
  positions: LivePositions,
  /** Called after positions were sent, with the time since the first of them was received. */
  onSent?: (seconds: number) => void,
): LiveClients {
  const groups = new Map<string, Group>()
  const groupOf = new Map<LiveClient, Group>()
  /** Clients whose cursor is ahead of this process. */
  const catchingUp = new Map<LiveClient, { filter: Filter; from: Cursor; until: number }>()

  function catchUp(): void {
    for (const [client, { filter, from, until }] of catchingUp) {
      if (hasRead(positions, from)) begin(client, filter, from)
      else if (performance.now() > until) begin(client, filter, null)
    }
  }

  /** Sends a client its view, and what changes in it from then on. */
  function begin(client: LiveClient, filter: Filter, from: Cursor | null): void {
    leave(client)
    backfill(positions, join(client, filter), client, from)
  }

  function stream(): void {
    positions.age(timeOfDay())
    const arrivedAt = positions.takeArrival()
    const changed = positions.takeChanged()
    let isSent = false
    for (const group of groups.values())
      if (streamTo(group, takeRelevant(group, changed.get(group.organizationId) ?? []))) isSent = true
    if (isSent && arrivedAt !== null) onSent?.(Math.max(0, timeOfDay() - arrivedAt) / 1000)
  }

  function join(client: LiveClient, filter: Filter): Group {
    const key = JSON.stringify([client.visibility, filter])
    const group = groups.get(key) ?? createGroup(key, client.visibility, filter, positions)
    groups.set(key, group)
    group.clients.set(client, { missed: undefined })
    groupOf.set(client, group)
    return group
  }

  function leave(client: LiveClient): void {
    catchingUp.delete(client)
    const group = groupOf.get(client)
    groupOf.delete(client)
    group?.clients.delete(client)
    if (group?.clients.size === 0) groups.delete(group.key)
  }

  const ticks = setInterval(() => {
    catchUp()
    stream()
  }, TICK_MS)

  return {
    get count() {
      return groupOf.size
    },

    subscribe(client, filter, since) {
      const from = since === null ? null : readCursor(since)
      if (!from || hasRead(positions, from)) return begin(client, filter, from)
      leave(client)
      catchingUp.set(client, { filter, from, until: performance.now() + CATCH_UP_WITHIN_MS })
    },

    unsubscribe: leave,

    changeVisibility(client, visibility) {
      const before = groupOf.get(client)
      client.visibility = visibility
      if (!before) return
      const shownBefore = new Set(before.shown)
      const missed = before.clients.get(client)?.missed ?? []
      leave(client)
      const group = join(client, before.filter)
      const changes = new Set([...shownBefore, ...group.shown])
      for (const position of group.shown) if (shownBefore.has(position)) changes.delete(position)
      for (const position of missed) changes.add(position)
      sendChange(group, [client], changes)
    },

    close() {
      clearInterval(ticks)
    },
  }
}

/**
 * Sends changed positions to the clients of a group that read fast enough; the others get them later. Returns whether
 * somebody got them.
 */
function streamTo(group: Group, relevant: readonly Position[]): boolean {
  const ready: LiveClient[] = []
  for (const [client, state] of group.clients) {
    const slow = client.waitingBytes > SLOW_FROM_BYTES
    if (slow || state.missed) {
      state.missed ??= new Set()
      for (const position of relevant) state.missed.add(position)
    }
    if (!slow && state.missed) {
      sendChange(group, [client], state.missed)
      state.missed = undefined
    } else if (!slow && relevant.length > 0) ready.push(client)
  }
  if (ready.length > 0) sendChange(group, ready, relevant)
  return ready.length > 0
}
