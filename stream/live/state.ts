import type { NewestFix, SubjectInfo, View } from '../../db/queries/newest-fixes.ts'
import type { Point } from '../point.ts'
import type { Position } from './position.ts'
import { changesAt, DEFAULT_OFFLINE_AFTER_MS, firstMotion, stateAt, updateMotion } from './presence.ts'
import { createWheel } from './wheel.ts'

/**
 * The number of states updated in one turn of the event loop: 100,000 subjects that fall silent together take 5 s and
 * stall nothing.
 */
const AGED_AT_ONCE = 5_000

const EMPTY: ReadonlySet<Position> = new Set()

/**
 * The positions of a live process and what has changed in them since they were last taken. It reads neither the log nor
 * the database; `now` is the time of day.
 */
export class LiveState {
  readonly #bySubject = new Map<number, Position>()
  /** The named positions. A subject of unknown name is shown to nobody. */
  readonly #byOrganization = new Map<string, Set<Position>>()
  readonly #views = new Map<string, View>()
  readonly #wheel = createWheel<Position>()
  #changed = new Map<string, Set<Position>>()

  find(subject: number): Position | undefined {
    return this.#bySubject.get(subject)
  }

  of(organizationId: string): ReadonlySet<Position> {
    return this.#byOrganization.get(organizationId) ?? EMPTY
  }

  /** The named subjects of an organization, or of all. */
  listNamed(organizationId: string | null): SubjectInfo[] {
    const positions = organizationId ? this.of(organizationId) : this.#bySubject.values()
    return [...positions].flatMap(({ info }) => info ?? [])
  }

  /** Takes what has changed since the last call, by organization. */
  takeChanged(): Map<string, Set<Position>> {
    const taken = this.#changed
    this.#changed = new Map()
    return taken
  }

  /** Adds the first known fix of a subject. */
  add(fix: NewestFix, info: SubjectInfo | undefined, now: number): void {
    const position: Position = {
      fix,
      info,
      motion: firstMotion(fix.speed),
      state: 'idle',
      bucket: Number.POSITIVE_INFINITY,
      json: undefined,
    }
    this.#bySubject.set(fix.subject, position)
    this.#judge(position, now)
    this.#list(position)
  }

  /** Moves a subject to its next fix. */
  move(position: Position, fix: NewestFix, now: number): void {
    updateMotion(position.motion, position.fix, fix)
    position.fix = fix
    this.#judge(position, now)
    this.#touch(position)
  }

  /** Replaces a subject's newest fix by the one that is stored. */
  correct(position: Position, fix: NewestFix, now: number): void {
    if (fix.recordedAt !== position.fix.recordedAt) position.motion = firstMotion(fix.speed)
    position.fix = fix
    this.show(position, now)
  }

  /** Shows a position whose name or fix has changed. */
  show(position: Position, now: number): void {
    this.#judge(position, now)
    this.#list(position)
    this.#touch(position)
  }

  /** Removes a subject of which no fix is left. It appears again with its next fix, like a new subject. */
  remove(position: Position): void {
    this.#bySubject.delete(position.fix.subject)
    if (!position.info) return
    this.#byOrganization.get(position.info.organizationId)?.delete(position)
    position.info = { ...position.info, gone: true }
    this.#touch(position)
  }

  /** Whether a point may make a third fix the newest, neither this one nor the present one. */
  isUncertain(position: Position, { recordedAt, accuracy }: Point): boolean {
    const { fix } = position
    // The last fix may no longer be an anomaly, and a point between it and the newest fix may be a newer one.
    if (fix.lastAt !== null && recordedAt < fix.lastAt) return true
    const maxAccuracy = this.maxAccuracyOf(position)
    return maxAccuracy !== null && accuracy !== null && accuracy > maxAccuracy && recordedAt > fix.recordedAt
  }

  /** The number of subjects that are not offline, without those whose name is not read yet. 100,000 take a millisecond. */
  countOnline(): number {
    let count = 0
    for (const { info, state } of this.#bySubject.values()) if (info && state !== 'offline') count++
    return count
  }

  maxAccuracyOf(position: Position): number | null {
    return this.#viewOf(position)?.maxAccuracy ?? null
  }

  visibilityVersion(organizationId: string): number {
    return this.#views.get(organizationId)?.version ?? 0
  }

  /** Sets how an organization's subjects are shown. */
  setView(organizationId: string, view: View, now: number): void {
    const before = this.#views.get(organizationId)
    this.#views.set(organizationId, view)
    if (before?.offlineAfterMs === view.offlineAfterMs) return
    for (const position of this.of(organizationId)) this.#wheel.schedule(position, now, now)
  }

  /** Updates subjects whose state may have changed by the time alone. */
  age(now: number): void {
    for (const position of this.#wheel.take(now, AGED_AT_ONCE))
      if (this.#judge(position, now)) this.#touch(position)
  }

  /** Whether the time alone has changed a subject's state since then. */
  hasAged(position: Position, since: number, now: number): boolean {
    const { fix, motion } = position
    const changes = changesAt(fix.recordedAt, motion.moves, this.#offlineAfterMs(position))
    return changes.some(at => at >= since && at <= now)
  }

  #viewOf({ info }: Position): View | undefined {
    return info && this.#views.get(info.organizationId)
  }

  #offlineAfterMs(position: Position): number {
    return this.#viewOf(position)?.offlineAfterMs ?? DEFAULT_OFFLINE_AFTER_MS
  }

  /** Updates the state for this time and schedules the next look. Returns whether the state changed. */
  #judge(position: Position, now: number): boolean {
    const { recordedAt } = position.fix
    const { moves } = position.motion
    const after = this.#offlineAfterMs(position)
    const before = position.state
    position.state = stateAt(now, recordedAt, moves, after)
    const next = changesAt(recordedAt, moves, after).find(at => at > now)
    if (next !== undefined) this.#wheel.schedule(position, next, now)
    return position.state !== before
  }

  #list(position: Position): void {
    if (position.info) addTo(this.#byOrganization, position.info.organizationId, position)
  }

  #touch(position: Position): void {
    position.json = undefined
    if (position.info) addTo(this.#changed, position.info.organizationId, position)
  }
}

function addTo(sets: Map<string, Set<Position>>, organizationId: string, position: Position): void {
  const others = sets.get(organizationId)
  if (others) others.add(position)
  else sets.set(organizationId, new Set([position]))
}
