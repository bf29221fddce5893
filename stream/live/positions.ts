import type { Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import {
  listAllSubjects,
  listSubjects,
  listSubjectsOf,
  listViews,
  type NewestFix,
  readNewestFixes,
  type SubjectInfo,
  type View,
} from '../../db/queries/newest-fixes.ts'
import { retry } from '../../db/retry.ts'
import type { Batch, Log, Positions, Subscription } from '../log.ts'
import type { Point } from '../point.ts'
import {
  changesAt,
  DEFAULT_OFFLINE_AFTER_MS,
  firstMotion,
  type Motion,
  type State,
  stateAt,
  updateMotion,
} from './presence.ts'
import { createReconciliation } from './reconciliation.ts'
import { createWheel } from './wheel.ts'

/**
 * The newest position of every subject in a live process. The positions are read from the table together with the log
 * positions stored by then, and from there the log moves them on. The table's row names the log record that set it, so
 * "changed since this cursor" is a comparison, however old the cursor is: no buffer of past messages is needed.
 *
 * The newest fix by its own timestamp wins, as in the table. A late fix never moves a subject backwards. Where the
 * organization limits accuracy, the table decides which fix is the newest without an anomaly (`reconciliation.ts`).
 */
export interface Position {
  fix: NewestFix
  /** Undefined until it is read, for a subject that is new to this process. */
  info: SubjectInfo | undefined
  /** Derived from the fixes that this process has seen; fixes from before its start are missing. */
  motion: Motion
  state: State
  /** The wheel's bucket in which its state is looked at next. */
  bucket: number
  /** The position as JSON, written when it is first needed after a change. */
  json: string | undefined
}

/**
 * The number of states updated in one turn of the event loop: 100,000 subjects that fall silent together take 5 s and
 * stall nothing.
 */
const AGED_AT_ONCE = 5_000
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500

export interface LivePositions {
  /** The positions of an organization's subjects. */
  of(organizationId: string): ReadonlySet<Position>
  /** The log positions before which every change is in here, with the subject's name known. */
  readonly watermark: Positions
  visibilityVersion(organizationId: string): number
  /** Takes what has changed since the last call, by organization. */
  takeChanged(): Map<string, Set<Position>>
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

const EMPTY: ReadonlySet<Position> = new Set()

export async function openLivePositions(options: {
  db: Database
  log: Log
  onError: (error: unknown, doing: string) => void
}): Promise<LivePositions> {
  const { db, log, onError } = options
  const bySubject = new Map<number, Position>()
  const byOrganization = new Map<string, Set<Position>>()
  const views = new Map<string, View>()
  const wheel = createWheel<Position>()
  let changed = new Map<string, Set<Position>>()
  const read = new Map<number, number>()
  let watermark: Positions = new Map()
  const nameless = new Set<number>()
  let naming = false
  let closed = false

  function add(position: Position): void {
    bySubject.set(position.fix.subject, position)
    if (!position.info) return
    const { organizationId } = position.info
    const others = byOrganization.get(organizationId)
    if (others) others.add(position)
    else byOrganization.set(organizationId, new Set([position]))
  }

  function begin(fix: NewestFix, info: SubjectInfo | undefined, now: number): void {
    const motion = firstMotion(fix.speed)
    const position: Position = {
      fix,
      info,
      motion,
      state: 'idle',
      bucket: Number.POSITIVE_INFINITY,
      json: undefined,
    }
    judge(position, now)
    add(position)
  }

  function touch(position: Position): void {
    position.json = undefined
    if (!position.info) return
    const { organizationId } = position.info
    const others = changed.get(organizationId)
    if (others) others.add(position)
    else changed.set(organizationId, new Set([position]))
  }

  const offlineAfterMs = ({ info }: Position) =>
    (info && views.get(info.organizationId)?.offlineAfterMs) ?? DEFAULT_OFFLINE_AFTER_MS

  /** Updates the state for this time and schedules the next look. Returns whether the state changed. */
  function judge(position: Position, now: number): boolean {
    const { recordedAt } = position.fix
    const { moves } = position.motion
    const after = offlineAfterMs(position)
    const before = position.state
    position.state = stateAt(now, recordedAt, moves, after)
    const next = changesAt(recordedAt, moves, after).find(at => at > now)
    if (next !== undefined) wheel.schedule(position, next, now)
    return position.state !== before
  }

  function apply(batch: Batch): void {
    const now = timeOfDay()
    for (const { offset, entries } of batch.records) {
      for (const entry of entries) {
        if (entry.kind !== 'point') continue
        const position = bySubject.get(entry.subject)
        if (position && isUncertain(position, entry)) {
          if (entry.recordedAt > position.fix.recordedAt)
            position.fix.lastAt = Math.max(entry.recordedAt, position.fix.lastAt ?? 0)
          reconciliation.add(entry.subject, batch.partition, offset)
          continue
        }
        if (position && entry.recordedAt <= position.fix.recordedAt) continue
        const { lat, lng, speed, heading, accuracy, battery, subject, recordedAt } = entry
        const fix = {
          subject,
          recordedAt,
          lat,
          lng,
          speed,
          heading,
          accuracy,
          battery,
          logPartition: batch.partition,
          logOffset: offset,
          lastAt: null,
        }
        if (position) {
          updateMotion(position.motion, position.fix, fix)
          position.fix = fix
          judge(position, now)
          touch(position)
        } else {
          begin(fix, undefined, now)
          nameless.add(subject)
        }
      }
    }
    read.set(batch.partition, batch.nextOffset)
    if (nameless.size === 0) watermark = reconciliation.limit(read)
    else void nameSubjects()
  }

  /** Whether a point may make a third fix the newest, neither this one nor the present one. */
  function isUncertain({ fix, info }: Position, { recordedAt, accuracy }: Point): boolean {
    const maxAccuracy = (info && views.get(info.organizationId)?.maxAccuracy) ?? null
    // The last fix may no longer be an anomaly, and a point between it and the newest fix may be a newer one.
    if (fix.lastAt !== null && recordedAt < fix.lastAt) return true
    return maxAccuracy !== null && accuracy !== null && accuracy > maxAccuracy && recordedAt > fix.recordedAt
  }

  const reconciliation = createReconciliation({
    db: db.system,
    onError,
    onReconciled() {
      if (nameless.size === 0) watermark = reconciliation.limit(read)
    },
    setNewest(subject, fix) {
      const position = bySubject.get(subject)
      if (!position) return
      if (fix) {
        if (fix.recordedAt !== position.fix.recordedAt) position.motion = firstMotion(fix.speed)
        position.fix = fix
        judge(position, timeOfDay())
        add(position)
      } else {
        // It appears again with its next fix, like a new subject.
        bySubject.delete(subject)
        if (!position.info) return
        byOrganization.get(position.info.organizationId)?.delete(position)
        position.info = { ...position.info, gone: true }
      }
      touch(position)
    },
  })

  async function nameSubjects(): Promise<void> {
    if (naming) return
    naming = true
    try {
      while (nameless.size > 0) {
        const keys = [...nameless]
        for (const info of await listSubjects(db.system, keys)) name(info)
        // A subject that the database does not know belongs to a deleted organization.
        for (const key of keys) nameless.delete(key)
      }
      watermark = reconciliation.limit(read)
    } catch (error) {
      onError(error, 'reading new subjects, trying again')
      setTimeout(() => void nameSubjects(), 1000).unref()
    } finally {
      naming = false
    }
  }

  function name(info: SubjectInfo): void {
    const position = bySubject.get(info.subject)
    if (!position) return
    const same = JSON.stringify(position.info) === JSON.stringify(info)
    const isNew = !position.info
    position.info = info
    if (same) return
    const { logPartition, logOffset } = position.fix
    if (isNew && views.get(info.organizationId)?.maxAccuracy != null) {
      // The accuracy limit was unknown for its fixes so far.
      reconciliation.add(info.subject, logPartition, logOffset)
      reconciliation.add(info.subject, logPartition, (read.get(logPartition) ?? 1) - 1)
      return
    }
    judge(position, timeOfDay())
    add(position)
    touch(position)
  }

  async function start(): Promise<Positions> {
    const { fixes, positions } = await db.system.transaction(readNewestFixes)
    const infos = new Map((await listAllSubjects(db.system)).map(info => [info.subject, info]))
    for (const [id, view] of await listViews(db.system, null)) views.set(id, view)
    const now = timeOfDay()
    for (const fix of fixes) begin(fix, infos.get(fix.subject), now)
    for (const [partition, offset] of positions) read.set(partition, offset)
    watermark = new Map(read)
    return positions
  }

  /**
   * Reads the visibility and names of the subjects, of one organization or of all. The versions are read first and take
   * effect last, so that everything they stand for is in here. It is tried until it succeeds: a short failure of the
   * database must not let anybody go on seeing a subject that they may no longer see.
   */
  function refresh(organizationId: string | null): Promise<void> {
    const refreshOnce = async () => {
      const read = await listViews(db.system, organizationId)
      const before = organizationId ? (byOrganization.get(organizationId) ?? []) : bySubject.values()
      const known = [...before].flatMap(({ info }) => info ?? [])
      const infos = await (organizationId
        ? listSubjectsOf(db.system, organizationId)
        : listAllSubjects(db.system))
      for (const info of infos) name(info)
      // Sample subjects leave no row behind.
      const there = new Set(infos.map(({ subject }) => subject))
      for (const info of known) if (!there.has(info.subject)) name({ ...info, gone: true })
      for (const [id, view] of read) {
        const earlier = views.get(id)
        views.set(id, view)
        if (earlier?.offlineAfterMs !== view.offlineAfterMs) lookAtAll(id)
      }
    }
    return retry(refreshOnce, {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        if (closed) return false
        onError(error, 'reading the visibility of subjects, trying again')
        return true
      },
    })
  }

  function lookAtAll(organizationId: string): void {
    const now = timeOfDay()
    for (const position of byOrganization.get(organizationId) ?? []) wheel.schedule(position, now, now)
  }

  /** The running read of each organization, and the next one: many changes in a row share one read. */
  const refreshing = new Map<string, { current: Promise<void>; next: Promise<void> | undefined }>()

  function refreshOne(organizationId: string): Promise<void> {
    const running = refreshing.get(organizationId)
    if (running) {
      running.next ??= running.current.catch(() => {}).then(() => startRefresh(organizationId))
      return running.next
    }
    return startRefresh(organizationId)
  }

  function startRefresh(organizationId: string): Promise<void> {
    const current = refresh(organizationId)
    const state: { current: Promise<void>; next: Promise<void> | undefined } = { current, next: undefined }
    refreshing.set(organizationId, state)
    const forget = () => {
      if (!state.next) refreshing.delete(organizationId)
    }
    current.then(forget, forget)
    return current
  }

  const stopListening = db.onChange(event => {
    if (event.kind === 'visibility') refreshOne(event.organizationId).catch(ignoreClosed)
    if (event.kind === 'resync') refresh(null).catch(ignoreClosed)
  })

  const subscription: Subscription = await log.follow(start, apply)

  return {
    of: organizationId => byOrganization.get(organizationId) ?? EMPTY,
    get watermark() {
      return watermark
    },
    visibilityVersion: organizationId => views.get(organizationId)?.version ?? 0,
    takeChanged() {
      const taken = changed
      changed = new Map()
      return taken
    },
    refresh: refreshOne,
    age(now) {
      for (const position of wheel.take(now, AGED_AT_ONCE)) if (judge(position, now)) touch(position)
    },
    hasAged(position, since, now) {
      const { fix, motion } = position
      const changes = changesAt(fix.recordedAt, motion.moves, offlineAfterMs(position))
      return changes.some(at => at >= since && at <= now)
    },
    close() {
      closed = true
      stopListening()
      reconciliation.close()
      return subscription.close()
    },
  }
}

/** A read that was under way at closing may fail. */
function ignoreClosed(): void {}

/** The position as the live stream shows it. */
export function toJson(position: Position & { info: SubjectInfo }): string {
  const { fix, info, state } = position
  position.json ??= JSON.stringify({
    subjectId: info.subjectId,
    subjectType: info.subjectType,
    name: info.name,
    lat: fix.lat,
    lng: fix.lng,
    timestamp: new Date(fix.recordedAt).toISOString(),
    speed: fix.speed,
    heading: fix.heading,
    accuracy: fix.accuracy,
    battery: fix.battery,
    state,
  })
  return position.json
}
