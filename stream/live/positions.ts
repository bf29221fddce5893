import type { Database } from '../../db/client.ts'
import {
  listAllSubjects,
  listSubjects,
  listSubjectsOf,
  listVisibilityVersions,
  type NewestFix,
  readNewestFixes,
  type SubjectInfo,
} from '../../db/queries/newest-fixes.ts'
import { retry } from '../../db/retry.ts'
import type { Batch, Log, Positions, Subscription } from '../log.ts'

/**
 * The newest position of every subject, as a live process keeps it: read from the table together with how far the
 * log was stored then, and moved on by the log from there. The table's row names the record of the log that set
 * it, so that "what changed since this cursor" is a comparison, however long ago that was: there is no buffer of
 * past messages.
 *
 * The newest fix by its own timestamp wins, as in the table. A late one never moves a subject backwards.
 */
export interface Position {
  fix: NewestFix
  /** Undefined until it is read: a subject that is new to this process. */
  info: SubjectInfo | undefined
  state: State
  /** The position as JSON, made when first needed after a change. */
  json: string | undefined
}

export type State = 'moving' | 'idle' | 'offline'

/** Slow walking. Below it the fix wanders rather than moves. */
const MOVING_FROM_MPS = 0.5
export const OFFLINE_AFTER_MS = 5 * 60_000
const EARTH_RADIUS_M = 6_371_000
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
  /** Looks for subjects that have become silent. */
  age(now: number): void
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
  const visibilityVersions = new Map<string, number>()
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

  function touch(position: Position): void {
    position.json = undefined
    if (!position.info) return
    const { organizationId } = position.info
    const others = changed.get(organizationId)
    if (others) others.add(position)
    else changed.set(organizationId, new Set([position]))
  }

  function apply(batch: Batch): void {
    const now = Date.now()
    for (const { offset, entries } of batch.records) {
      for (const entry of entries) {
        if (entry.kind !== 'point') continue
        const position = bySubject.get(entry.subject)
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
        }
        const state = stateOf(fix, now, position?.fix)
        if (position) {
          position.fix = fix
          position.state = state
          touch(position)
        } else {
          add({ fix, info: undefined, state, json: undefined })
          nameless.add(subject)
        }
      }
    }
    read.set(batch.partition, batch.nextOffset)
    if (nameless.size === 0) watermark = new Map(read)
    else void nameSubjects()
  }

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
      watermark = new Map(read)
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
    position.info = info
    if (same) return
    add(position)
    touch(position)
  }

  async function start(): Promise<Positions> {
    const { fixes, positions } = await db.system.transaction(readNewestFixes)
    const infos = new Map((await listAllSubjects(db.system)).map(info => [info.subject, info]))
    const now = Date.now()
    for (const fix of fixes) {
      add({ fix, info: infos.get(fix.subject), state: stateOf(fix, now), json: undefined })
    }
    for (const [id, version] of await listVisibilityVersions(db.system, null))
      visibilityVersions.set(id, version)
    for (const [partition, offset] of positions) read.set(partition, offset)
    watermark = new Map(read)
    return positions
  }

  /**
   * Reads who is seen by whom, of one organization or of all. The versions are read first and come into force last: with them
   * everything they stand for is in here. Until it is done, since nobody may go on seeing what they may see no more because the database was away for a moment.
   */
  function refresh(organizationId: string | null): Promise<void> {
    const refreshOnce = async () => {
      const versions = await listVisibilityVersions(db.system, organizationId)
      const infos = organizationId ? listSubjectsOf(db.system, organizationId) : listAllSubjects(db.system)
      for (const info of await infos) name(info)
      for (const [id, version] of versions) visibilityVersions.set(id, version)
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

  /** What is being read of each organization, and what is to be read next: many changes in a row are read together. */
  const refreshing = new Map<string, { current: Promise<void>; next: Promise<void> | undefined }>()

  function refreshOne(organizationId: string): Promise<void> {
    const running = refreshing.get(organizationId)
    if (running) {
      running.next ??= running.current.catch(() => {}).then(() => begin(organizationId))
      return running.next
    }
    return begin(organizationId)
  }

  function begin(organizationId: string): Promise<void> {
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
    visibilityVersion: organizationId => visibilityVersions.get(organizationId) ?? 0,
    takeChanged() {
      const taken = changed
      changed = new Map()
      return taken
    },
    refresh: refreshOne,
    age(now) {
      for (const position of bySubject.values()) {
        if (position.state === 'offline' || now - position.fix.recordedAt < OFFLINE_AFTER_MS) continue
        position.state = 'offline'
        touch(position)
      }
    },
    close() {
      closed = true
      stopListening()
      return subscription.close()
    },
  }
}

/** What was being read when it was closed. */
function ignoreClosed(): void {}

/** Moving by the device's own speed, or by the way since the fix before where it has none. */
function stateOf(fix: NewestFix, now: number, before?: NewestFix): State {
  if (now - fix.recordedAt > OFFLINE_AFTER_MS) return 'offline'
  if (fix.speed !== null) return fix.speed >= MOVING_FROM_MPS ? 'moving' : 'idle'
  if (!before) return 'idle'
  const seconds = (fix.recordedAt - before.recordedAt) / 1000
  return distanceM(before, fix) / seconds >= MOVING_FROM_MPS ? 'moving' : 'idle'
}

/** Equirectangular approximation; good to 0.1 % over the distances between two fixes. */
function distanceM(a: NewestFix, b: NewestFix): number {
  const radians = Math.PI / 180
  const x = (b.lng - a.lng) * radians * Math.cos(((a.lat + b.lat) / 2) * radians)
  const y = (b.lat - a.lat) * radians
  return Math.hypot(x, y) * EARTH_RADIUS_M
}

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
