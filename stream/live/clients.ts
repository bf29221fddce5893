import { timeOfDay } from '../../db/clock.ts'
import type { SubjectInfo } from '../../db/queries/newest-fixes.ts'
import { createVisibilityTest, type Visibility } from '../../db/visibility.ts'
import { type Cursor, digestView, readCursor, writeCursor } from './cursor.ts'
import { type LivePositions, type Position, toJson } from './positions.ts'
import { createView, type Filter } from './view.ts'

/**
 * Sends positions to live clients. Four times a second, changed positions go to the clients whose view contains them;
 * clients with the same view share one serialized frame. A client that reads too slowly is skipped. When it has caught
 * up, it gets the newest state of the positions it missed, so no queue ever grows.
 *
 * A frame's cursor promises that every earlier change has been sent. A client that comes back with it gets the changes
 * since, and subjects that have left its view are named as gone. Another process may have read further than this one;
 * then the client waits until this process has reached the cursor, and never sees a subject jump back.
 */
export interface LiveClient {
  send(text: string): void
  /** Bytes that wait to be sent to the client. */
  readonly waitingBytes: number
  visibility: Visibility
}

const TICK_MS = 250
/** A state may change this much later than the clock says, because many changes at once are handled in steps. */
const AGED_LATE_MS = 10_000
/** How long a client waits for this process to read as far as its cursor; then it gets a snapshot. */
const CATCH_UP_WITHIN_MS = 5_000
/** With more waiting bytes than this a client is skipped; a frame of 500 positions is about 100 KiB. */
const SLOW_FROM_BYTES = 256 * 1024

type Shown = Position & { info: SubjectInfo }

/** Clients with the same view, and the positions that they show. */
interface Group {
  key: string
  organizationId: string
  matches: ReturnType<typeof createView>
  /** The view's digest for cursors; it changes with the visibility version. */
  digest: () => string
  shown: Set<Position>
  clients: Map<LiveClient, { missed: Set<Position> | undefined }>
}

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

export function createLiveClients(positions: LivePositions): LiveClients {
  const groups = new Map<string, Group>()
  const groupOf = new Map<LiveClient, { group: Group; filter: Filter }>()
  /** Clients whose cursor is ahead of this process. */
  const catchingUp = new Map<LiveClient, { filter: Filter; from: Cursor; until: number }>()

  const cursorOf = (group: Group) =>
    writeCursor({ positions: positions.watermark, view: group.digest(), at: timeOfDay() })

  /**
   * Remembers the digest, which changes only with the visibility version: hashing thousands of views four times a second
   * is slow.
   */
  function createDigest(visibility: Visibility, filter: Filter): () => string {
    let version = Number.NaN
    let digest = ''
    return () => {
      const current = positions.visibilityVersion(visibility.organizationId)
      if (current !== version) {
        version = current
        digest = digestView([version, visibility, filter])
      }
      return digest
    }
  }

  function join(client: LiveClient, filter: Filter): Group {
    const { visibility } = client
    const key = JSON.stringify([visibility, filter])
    let group = groups.get(key)
    if (!group) {
      const matches = createView(visibility, filter)
      const shown = new Set<Position>()
      for (const position of positions.of(visibility.organizationId))
        if (isIn(matches, position)) shown.add(position)
      const digest = createDigest(visibility, filter)
      group = { key, organizationId: visibility.organizationId, matches, digest, shown, clients: new Map() }
      groups.set(key, group)
    }
    group.clients.set(client, { missed: undefined })
    groupOf.set(client, { group, filter })
    return group
  }

  function leave(client: LiveClient): void {
    catchingUp.delete(client)
    const group = groupOf.get(client)?.group
    groupOf.delete(client)
    group?.clients.delete(client)
    if (group?.clients.size === 0) groups.delete(group.key)
  }

  function sendChange(group: Group, clients: Iterable<LiveClient>, changes: Iterable<Position>): void {
    const present: string[] = []
    const gone: string[] = []
    for (const position of changes) {
      if (isIn(group.matches, position)) present.push(toJson(position))
      else if (position.info) gone.push(position.info.subjectId)
    }
    const frames = gone.length > 0 ? [JSON.stringify({ type: 'gone', subjectIds: gone })] : []
    if (present.length > 0) frames.push(positionsFrame(cursorOf(group), present))
    for (const client of clients) for (const frame of frames) client.send(frame)
  }

  /** The changed positions that the clients showed before or show now. */
  function takeRelevant(group: Group, changed: Iterable<Position>): Position[] {
    const relevant: Position[] = []
    for (const position of changed) {
      const was = group.shown.has(position)
      const is = isIn(group.matches, position)
      if (is) group.shown.add(position)
      else group.shown.delete(position)
      if (was || is) relevant.push(position)
    }
    return relevant
  }

  const hasRead = (from: Cursor) =>
    [...from.positions].every(([number, offset]) => (positions.watermark.get(number) ?? 0) >= offset)

  function showCaughtUp(): void {
    for (const [client, { filter, from, until }] of catchingUp) {
      if (hasRead(from)) show(client, filter, from)
      else if (performance.now() > until) show(client, filter, null)
    }
  }

  /** Sends a client its view: the changes since the cursor, or everything. */
  function show(client: LiveClient, filter: Filter, from: Cursor | null): void {
    leave(client)
    const group = join(client, filter)
    const cursor = cursorOf(group)
    if (!from || from.view !== group.digest()) {
      const shown = [...group.shown].filter(isNamed).map(toJson)
      client.send(`{"type":"snapshot","cursor":"${cursor}","positions":[${shown.join(',')}]}`)
      return
    }
    const now = timeOfDay()
    const changes = [...positions.of(group.organizationId)].filter(
      position =>
        position.fix.logOffset >= (from.positions.get(position.fix.logPartition) ?? 0) ||
        positions.hasAged(position, from.at - AGED_LATE_MS, now),
    )
    const [present, absent] = partition(changes.filter(isNamed), position => isIn(group.matches, position))
    if (absent.length > 0) {
      // A subject that the caller may not see must not be named, not even as gone.
      const isVisible = createVisibilityTest(client.visibility)
      const subjectIds = absent.filter(({ info }) => isVisible(info)).map(({ info }) => info.subjectId)
      if (subjectIds.length > 0) client.send(JSON.stringify({ type: 'gone', subjectIds }))
    }
    client.send(positionsFrame(cursor, present.map(toJson)))
  }

  function tick(): void {
    showCaughtUp()
    positions.age(timeOfDay())
    const changed = positions.takeChanged()
    for (const group of groups.values()) {
      const relevant = takeRelevant(group, changed.get(group.organizationId) ?? [])
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
    }
  }

  const ticks = setInterval(tick, TICK_MS)

  return {
    get count() {
      return groupOf.size
    },

    subscribe(client, filter, since) {
      const from = since === null ? null : readCursor(since)
      if (!from || hasRead(from)) return show(client, filter, from)
      leave(client)
      catchingUp.set(client, { filter, from, until: performance.now() + CATCH_UP_WITHIN_MS })
    },

    unsubscribe: leave,

    changeVisibility(client, visibility) {
      const before = groupOf.get(client)
      client.visibility = visibility
      if (!before) return
      const shownBefore = new Set(before.group.shown)
      leave(client)
      const group = join(client, before.filter)
      const changes = new Set([...shownBefore, ...group.shown])
      for (const position of group.shown) if (shownBefore.has(position)) changes.delete(position)
      sendChange(group, [client], changes)
    },

    close() {
      clearInterval(ticks)
    },
  }
}

function positionsFrame(cursor: string, positions: readonly string[]): string {
  return `{"type":"positions","cursor":"${cursor}","positions":[${positions.join(',')}]}`
}

function isNamed(position: Position): position is Shown {
  return position.info !== undefined
}

function isIn(matches: Group['matches'], position: Position): position is Shown {
  return isNamed(position) && matches(position.info, position.fix)
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter(item => !test(item))]
}
