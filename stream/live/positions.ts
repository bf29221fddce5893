import type { Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import {
  listAllSubjects,
  listViews,
  type NewestFix,
  readNewestFixes,
  type SubjectInfo,
} from '../../db/queries/newest-fixes.ts'
import { type Batch, type Log, type Positions, receivedAtOf } from '../log.ts'
import type { Point } from '../point.ts'
import { createNaming } from './naming.ts'
import { type Position, toFix } from './position.ts'
import { createReconciliation } from './reconciliation.ts'
import { createRefreshing } from './refreshing.ts'
import { LiveState } from './state.ts'

/**
 * The newest position of every subject in a live process. The positions are read from the table together with the log
 * positions stored by then, and from there the log moves them on. The table's row names the log record that set it, so
 * "changed since this cursor" is a comparison, however old the cursor is: no buffer of past messages is needed.
 *
 * The newest fix by its own timestamp wins, as in the table. A late fix never moves a subject backwards. Where the
 * organization limits accuracy, the table decides which fix is the newest without an anomaly. So what the log shows
 * changes `state.ts`, and three parts read the rest from the database: `naming.ts` the names of new subjects,
 * `reconciliation.ts` the newest fixes that the log does not show, `refreshing.ts` names and visibility that have changed.
 */
export interface LivePositions {
  /** The positions of an organization's subjects. */
  of(organizationId: string): ReadonlySet<Position>
  /** The log positions before which every change is in here, with the subject's name known. */
  readonly watermark: Positions
  visibilityVersion(organizationId: string): number
  /** Takes what has changed since the last call, by organization. */
  takeChanged(): Map<string, Set<Position>>
  /** When the first point that came since the last call was received; null if none came. */
  takeArrival(): number | null
  /** The number of subjects that are not offline. */
  countOnline(): number
  /**
   * Resolves when an organization's subjects have been read after the call: names, hubs, and which of them are gone.
   * After a change of visibility they are read without a call.
   */
  refresh(organizationId: string): Promise<void>
  /** Updates subjects whose state may have changed by the time alone. */
  age(now: number): void
  /** Whether the time alone has changed a subject's state since then. */
  hasAged(position: Position, since: number, now: number): boolean
  close(): Promise<void>
}

export async function openLivePositions(options: {
  db: Database
  log: Log
  onError: (error: unknown, doing: string) => void
}): Promise<LivePositions> {
  const { db, log, onError } = options
  const state = new LiveState()
  const follower = createFollower(db, state, onError)
  const refreshing = createRefreshing({
    db: db.system,
    listKnown: organizationId => state.listNamed(organizationId),
    name: follower.name,
    setView: (id, view) => state.setView(id, view, timeOfDay()),
    onError,
  })
  /**
   * The organizations, or all (null), whose subjects change while the state is being read. Subjects that it does not have
   * yet are not refreshed, so these are refreshed again.
   */
  let changedMeanwhile: Set<string | null> | undefined = new Set()
  const refresh = (organizationId: string | null) =>
    organizationId === null ? refreshing.all() : refreshing.one(organizationId)
  const stopListening = db.onChange(event => {
    if (event.kind !== 'visibility' && event.kind !== 'resync') return
    const changed = event.kind === 'visibility' ? event.organizationId : null
    changedMeanwhile?.add(changed)
    refresh(changed).catch(ignoreClosed)
  })
  const subscription = await log.follow(follower.start, follower.apply)
  const missed = [...changedMeanwhile]
  changedMeanwhile = undefined
  await Promise.all(missed.map(refresh))

  return {
    of: organizationId => state.of(organizationId),
    get watermark() {
      return follower.watermark
    },
    visibilityVersion: organizationId => state.visibilityVersion(organizationId),
    takeChanged: () => state.takeChanged(),
    takeArrival: follower.takeArrival,
    countOnline: () => state.countOnline(),
    refresh: refreshing.one,
    age: now => state.age(now),
    hasAged: (position, since, now) => state.hasAged(position, since, now),
    close() {
      refreshing.close()
      stopListening()
      follower.close()
      return subscription.close()
    },
  }
}

/** A read that was under way at closing may fail. */
function ignoreClosed(): void {}

/** Follows the log into the state. */
function createFollower(db: Database, state: LiveState, onError: (error: unknown, doing: string) => void) {
  const read = new Map<number, number>()
  let watermark: Positions = new Map()
  let arrivedAt = Number.POSITIVE_INFINITY
  const naming = createNaming({ db: db.system, name, onNamed: advance, onError })
  const reconciliation = createReconciliation({
    db: db.system,
    setNewest,
    onReconciled: () => {
      if (!naming.isPending) advance()
    },
    onError,
  })

  async function start(): Promise<Positions> {
    const { fixes, positions } = await db.system.transaction(readNewestFixes)
    const infos = new Map((await listAllSubjects(db.system)).map(info => [info.subject, info]))
    const now = timeOfDay()
    for (const [id, view] of await listViews(db.system, null)) state.setView(id, view, now)
    for (const fix of fixes) state.add(fix, infos.get(fix.subject), now)
    for (const [partition, offset] of positions) read.set(partition, offset)
    watermark = new Map(read)
    return positions
  }

  function apply(batch: Batch): void {
    const now = timeOfDay()
    arrivedAt = Math.min(arrivedAt, receivedAtOf(batch))
    for (const { offset, entries } of batch.records)
      for (const entry of entries) if (entry.kind === 'point') applyPoint(entry, batch.partition, offset, now)
    read.set(batch.partition, batch.nextOffset)
    if (naming.isPending) void naming.read()
    else advance()
  }

  function applyPoint(point: Point, partition: number, offset: number, now: number): void {
    const position = state.find(point.subject)
    if (!position) {
      state.add(toFix(point, partition, offset), undefined, now)
      naming.add(point.subject)
      return
    }
    const { fix } = position
    const isNewer = point.recordedAt > fix.recordedAt
    if (state.isUncertain(position, point)) {
      if (isNewer) fix.lastAt = Math.max(point.recordedAt, fix.lastAt ?? 0)
      reconciliation.add(point.subject, partition, offset)
    } else if (isNewer) state.move(position, toFix(point, partition, offset), now)
  }

  function takeArrival(): number | null {
    const taken = arrivedAt
    arrivedAt = Number.POSITIVE_INFINITY
    return Number.isFinite(taken) ? taken : null
  }

  function setNewest(subject: number, fix: NewestFix | null): void {
    const position = state.find(subject)
    if (!position) return
    if (fix) state.correct(position, fix, timeOfDay())
    else state.remove(position)
  }

  function name(info: SubjectInfo): void {
    const position = state.find(info.subject)
    if (!position) return
    const same = JSON.stringify(position.info) === JSON.stringify(info)
    const isNew = !position.info
    position.info = info
    if (same) return
    if (isNew && state.maxAccuracyOf(position) !== null) {
      // The accuracy limit was unknown for its fixes so far.
      const { logPartition, logOffset } = position.fix
      reconciliation.add(info.subject, logPartition, logOffset)
      reconciliation.add(info.subject, logPartition, (read.get(logPartition) ?? 1) - 1)
    } else state.show(position, timeOfDay())
  }

  /** Moves the watermark to what was read, as far as it is reconciled. */
  function advance(): void {
    watermark = reconciliation.limit(read)
  }

  return {
    start,
    apply,
    takeArrival,
    name,
    get watermark() {
      return watermark
    },
    close: reconciliation.close,
  }
}
