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
import { createDoubts } from './doubts.ts'
import {
  changesAt,
  DEFAULT_OFFLINE_AFTER_MS,
  firstMotion,
  follow,
  type Motion,
  type State,
  stateAt,
} from './presence.ts'
import { createWheel } from './wheel.ts'

/**
 * The newest position of every subject, as a live process keeps it: read from the table together with how far the
 * log was stored then, and moved on by the log from there. The table's row names the record of the log that set
 * it, so that "what changed since this cursor" is a comparison, however long ago that was: there is no buffer of
 * past messages.
 *
 * The newest fix by its own timestamp wins, as in the table. A late one never moves a subject backwards. Where the
 * organization limits accuracy, the newest that is no anomaly is what the table says (`doubts.ts`).
 */
export interface Position {
  fix: NewestFix
  /** Undefined until it is read: a subject that is new to this process. */
  info: SubjectInfo | undefined
  /** What its last fixes say of it; whoever starts knows none of before. */
  motion: Motion
  state: State
  /** When it is looked at next, as the wheel has it. */
  bucket: number
  /** The position as JSON, made when first needed after a change. */
  json: string | undefined
}

/** Whose state is looked at in one turn of the event loop: 100,000 that fall silent together take 5 s and stall nothing. */
const AGED_AT_ONCE = 5_000
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500

export interface LivePositions {
  /** The positions of an organization's subjects. */
  of(organizationId: string): ReadonlySet<Position>
  /** Up to where everything is in here, and known by name. */
  readonly watermark: Positions
  visibilityVersion(organizationId: string): number
  /** Takes what has changed since the last call, by organization. */
  takeChanged(): Map<string, Set<Position>>
  /**
   * Resolves when an organization's subjects have been read after the call: their names, hubs, and which of them are
   * gone. A change of who sees what has them read without being asked for.
   */
  refresh(organizationId: string): Promise<void>
  /** Looks at subjects whose state the time alone may have changed. */
  age(now: number): void
  /** Whether the time alone has changed the state of a subject since. */
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

  /** The state at this time, and when to look again. Returns whether it is another one. */
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
        if (position && isDoubtful(position, entry)) {
          if (entry.recordedAt > position.fix.recordedAt)
            position.fix.lastAt = Math.max(entry.recordedAt, position.fix.lastAt ?? 0)
          doubts.raise(entry.subject, batch.partition, offset)
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
          follow(position.motion, position.fix, fix)
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
    if (nameless.size === 0) watermark = doubts.limit(read)
    else void nameSubjects()
  }

  /** Whether a point may make another fix the newest than the newest of both. */
  function isDoubtful({ fix, info }: Position, { recordedAt, accuracy }: Point): boolean {
    const maxAccuracy = (info && views.get(info.organizationId)?.maxAccuracy) ?? null
    // An anomaly that came last may be none by now, and a point among those after the newest fix may be a newer one.
    if (fix.lastAt !== null && recordedAt < fix.lastAt) return true
    return maxAccuracy !== null && accuracy !== null && accuracy > maxAccuracy && recordedAt > fix.recordedAt
  }

  const doubts = createDoubts({
    db: db.system,
    onError,
    onSettled() {
      if (nameless.size === 0) watermark = doubts.limit(read)
    },
    settle(subject, fix) {
      const position = bySubject.get(subject)
      if (!position) return
      if (fix) {
        if (fix.recordedAt !== position.fix.recordedAt) position.motion = firstMotion(fix.speed)
        position.fix = fix
        judge(position, timeOfDay())
        add(position)
      } else {
        // It is shown again with its next fix, like one that has just been created.
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
        // A subject that the database does not know belongs to an organization that is gone.
        for (const key of keys) nameless.delete(key)
      }
      watermark = doubts.limit(read)
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
      // Nobody could say of its fixes so far whether they were accurate enough.
      doubts.raise(info.subject, logPartition, logOffset)
      doubts.raise(info.subject, logPartition, (read.get(logPartition) ?? 1) - 1)
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
   * Reads who is seen by whom, and as what, of one organization or of all. The versions are read first and come into force last: with
   * them everything they stand for is in here. Until it is done, since nobody may go on seeing what they may see no more because the database was away for a moment.
   */
  function refresh(organizationId: string | null): Promise<void> {
    const refreshOnce = async () => {
      const read = await listViews(db.system, organizationId)
      const infos = organizationId ? listSubjectsOf(db.system, organizationId) : listAllSubjects(db.system)
      for (const info of await infos) name(info)
      for (const [id, view] of read) {
        const before = views.get(id)
        views.set(id, view)
        if (before?.offlineAfterMs !== view.offlineAfterMs) lookAtAll(id)
      }
    }
    return retry(refreshOnce, {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        if (closed) return false
        onError(error, 'reading who sees what, trying again')
        return true
      },
    })
  }

  function lookAtAll(organizationId: string): void {
    const now = timeOfDay()
    for (const position of byOrganization.get(organizationId) ?? []) wheel.schedule(position, now, now)
  }

  /** What is being read of each organization, and what is to be read next: many changes in a row are read together. */
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
      doubts.close()
      return subscription.close()
    },
  }
}

/** What was being read when it was closed. */
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
