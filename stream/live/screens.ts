import type { SubjectInfo } from '../../db/queries/newest-fixes.ts'
import type { Sight } from '../../db/queries/sight.ts'
import { type Cursor, digestView, readCursor, writeCursor } from './cursor.ts'
import { type LivePositions, OFFLINE_AFTER_MS, type Position, toJson } from './positions.ts'
import { createSightTest, createView, type Filter } from './view.ts'

/**
 * Sends positions to screens. Four times a second, what has changed goes to the screens whose view it is in; screens
 * with the same view share one serialized frame. A screen that reads too slowly is passed over, and gets the
 * newest state of what it missed when it has caught up: never a growing queue.
 *
 * A frame's cursor says that every change before it has been sent. A screen that comes back with it is sent what
 * changed since; what has left its view meanwhile is named as gone. Another process may have read further than this
 * one: then the screen waits until it is where the cursor is, and never sees a subject jump back.
 */
export interface Screen {
  send(text: string): void
  /** Bytes that wait to be read. */
  readonly waitingBytes: number
  sight: Sight
}

const TICK_MS = 250
const AGE_EVERY_MS = 5_000
/** How long a screen waits for this process to read as far as its cursor; then it gets a snapshot. */
const CATCH_UP_WITHIN_MS = 5_000
/** Beyond this a screen is passed over: a frame of 500 positions is about 100 KiB. */
const SLOW_FROM_BYTES = 256 * 1024

type Shown = Position & { info: SubjectInfo }

/** Screens with one view, and what is on them. */
interface Group {
  key: string
  organizationId: string
  matches: (info: SubjectInfo, lat: number, lng: number) => boolean
  /** What a cursor of this view says; raised with the sight version. */
  digest: () => string
  shown: Set<Position>
  screens: Map<Screen, { missed: Set<Position> | undefined }>
}

export interface Screens {
  /** Shows a view on a screen, in place of its former one; from `since` on, where that cursor is of this view. */
  subscribe(screen: Screen, filter: Filter, since: string | null): void
  /** Takes the screen off. */
  unsubscribe(screen: Screen): void
  /** The screen's sight is another one: what it may no longer see goes, what it now may comes. */
  changeSight(screen: Screen, sight: Sight): void
  readonly count: number
  close(): void
}

export function createScreens(positions: LivePositions): Screens {
  const groups = new Map<string, Group>()
  const groupOf = new Map<Screen, { group: Group; filter: Filter }>()
  /** Screens whose cursor is ahead of what was read here. */
  const early = new Map<Screen, { filter: Filter; from: Cursor; until: number }>()

  const cursorOf = (group: Group) =>
    writeCursor({ positions: positions.settled, view: group.digest(), at: Date.now() })

  /** A hash for each of thousands of views four times a second would be felt; it changes with the sight version alone. */
  function createDigest(sight: Sight, filter: Filter): () => string {
    let version = Number.NaN
    let digest = ''
    return () => {
      const current = positions.sightVersion(sight.organizationId)
      if (current !== version) {
        version = current
        digest = digestView([version, sight, filter])
      }
      return digest
    }
  }

  function join(screen: Screen, filter: Filter): Group {
    const { sight } = screen
    const key = JSON.stringify([sight, filter])
    let group = groups.get(key)
    if (!group) {
      const matches = createView(sight, filter)
      const shown = new Set<Position>()
      for (const position of positions.of(sight.organizationId))
        if (isIn(matches, position)) shown.add(position)
      const digest = createDigest(sight, filter)
      group = { key, organizationId: sight.organizationId, matches, digest, shown, screens: new Map() }
      groups.set(key, group)
    }
    group.screens.set(screen, { missed: undefined })
    groupOf.set(screen, { group, filter })
    return group
  }

  function leave(screen: Screen): void {
    early.delete(screen)
    const group = groupOf.get(screen)?.group
    groupOf.delete(screen)
    group?.screens.delete(screen)
    if (group?.screens.size === 0) groups.delete(group.key)
  }

  function sendChange(group: Group, screens: Iterable<Screen>, changes: Iterable<Position>): void {
    const present: string[] = []
    const gone: string[] = []
    for (const position of changes) {
      if (isIn(group.matches, position)) present.push(toJson(position))
      else if (position.info) gone.push(position.info.subjectId)
    }
    const frames = gone.length > 0 ? [JSON.stringify({ type: 'gone', subjectIds: gone })] : []
    if (present.length > 0) frames.push(positionsFrame(cursorOf(group), present))
    for (const screen of screens) for (const frame of frames) screen.send(frame)
  }

  /** What was on the screens or comes onto them; the rest of the organization is not theirs. */
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
    [...from.positions].every(([number, offset]) => (positions.settled.get(number) ?? 0) >= offset)

  function admitEarly(): void {
    for (const [screen, { filter, from, until }] of early) {
      if (hasRead(from)) show(screen, filter, from)
      else if (Date.now() > until) show(screen, filter, null)
    }
  }

  /** Puts a view on a screen: what changed since the cursor, or everything. */
  function show(screen: Screen, filter: Filter, from: Cursor | null): void {
    leave(screen)
    const group = join(screen, filter)
    const cursor = cursorOf(group)
    if (!from || from.view !== group.digest()) {
      const shown = [...group.shown].filter(isNamed).map(toJson)
      screen.send(`{"type":"snapshot","cursor":"${cursor}","positions":[${shown.join(',')}]}`)
      return
    }
    const changes = [...positions.of(group.organizationId)].filter(
      ({ fix }) =>
        fix.logOffset >= (from.positions.get(fix.logPartition) ?? 0) ||
        // Became offline since, give or take how often that is looked at.
        fix.recordedAt + OFFLINE_AFTER_MS >= from.at - 2 * AGE_EVERY_MS,
    )
    const [present, absent] = partition(changes.filter(isNamed), position => isIn(group.matches, position))
    if (absent.length > 0) {
      // Only what the caller may see may be named to it, also as gone.
      const isInSight = createSightTest(screen.sight)
      const subjectIds = absent.filter(({ info }) => isInSight(info)).map(({ info }) => info.subjectId)
      if (subjectIds.length > 0) screen.send(JSON.stringify({ type: 'gone', subjectIds }))
    }
    screen.send(positionsFrame(cursor, present.map(toJson)))
  }

  function tick(): void {
    admitEarly()
    const changed = positions.takeChanged()
    for (const group of groups.values()) {
      const relevant = takeRelevant(group, changed.get(group.organizationId) ?? [])
      const ready: Screen[] = []
      for (const [screen, state] of group.screens) {
        const slow = screen.waitingBytes > SLOW_FROM_BYTES
        if (slow || state.missed) {
          state.missed ??= new Set()
          for (const position of relevant) state.missed.add(position)
        }
        if (!slow && state.missed) {
          sendChange(group, [screen], state.missed)
          state.missed = undefined
        } else if (!slow && relevant.length > 0) ready.push(screen)
      }
      if (ready.length > 0) sendChange(group, ready, relevant)
    }
  }

  const ticks = setInterval(tick, TICK_MS)
  const ages = setInterval(() => positions.age(Date.now()), AGE_EVERY_MS)

  return {
    get count() {
      return groupOf.size
    },

    subscribe(screen, filter, since) {
      const from = since === null ? null : readCursor(since)
      if (!from || hasRead(from)) return show(screen, filter, from)
      leave(screen)
      early.set(screen, { filter, from, until: Date.now() + CATCH_UP_WITHIN_MS })
    },

    unsubscribe: leave,

    changeSight(screen, sight) {
      const before = groupOf.get(screen)
      screen.sight = sight
      if (!before) return
      const shownBefore = new Set(before.group.shown)
      leave(screen)
      const group = join(screen, before.filter)
      const changes = new Set([...shownBefore, ...group.shown])
      for (const position of group.shown) if (shownBefore.has(position)) changes.delete(position)
      sendChange(group, [screen], changes)
    },

    close() {
      clearInterval(ticks)
      clearInterval(ages)
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
  return isNamed(position) && matches(position.info, position.fix.lat, position.fix.lng)
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter(item => !test(item))]
}
