import { isFast as isImpossible } from '../anomalies.ts'
import { distanceM } from '../geometry.ts'

/**
 * Whether a subject moves, stands, or is silent, derived from its newest fix, its places before, and the time.
 *
 * A subject is `moving` above 1 m/s by the device's own speed, or more than 25 m from its place 60 s before the fix.
 * Either is valid for a minute: a silent subject is `idle` a minute after its newest fix, and `offline` when that fix
 * is as old as the organization's `settings.offlineAfterMinutes`.
 */
export type State = 'moving' | 'idle' | 'offline'

export const DEFAULT_OFFLINE_AFTER_MS = 10 * 60_000

const MOVING_ABOVE_MPS = 1
const MOVED_OVER_M = 25
const MOVED_WITHIN_MS = 60_000
/** That makes at most seven places of 24 bytes for a minute, however often a device sends. */
const REMEMBERED_EVERY_MS = 10_000
const VALUES = 3

interface Place {
  recordedAt: number
  lat: number
  lng: number
}

/** The part of a subject's fixes that decides its state, beside the time. */
export interface Motion {
  /** Time, latitude and longitude of each former place; the oldest is the one of a minute ago. */
  past: number[]
  moves: boolean
}

/** The motion after the first known fix of a subject. */
export const firstMotion = (speed: number | null): Motion => ({ past: [], moves: isFast(speed) })

/** Updates the motion with the subject's next fix; `before` is the newest fix until now. */
export function updateMotion(motion: Motion, before: Place, fix: Place & { speed: number | null }): void {
  const { past } = motion
  if (isWorthRemembering(past, before, fix)) past.push(before.recordedAt, before.lat, before.lng)
  const since = fix.recordedAt - MOVED_WITHIN_MS
  while (past.length > VALUES && (past[VALUES] as number) <= since) past.splice(0, VALUES)
  const [, lat, lng] = past as [number, number, number]
  motion.moves = isFast(fix.speed) || distanceM({ lat, lng }, fix) > MOVED_OVER_M
}

/** A place is remembered some time after the last one, unless the subject has jumped there and back. */
function isWorthRemembering(past: readonly number[], before: Place, fix: Place): boolean {
  if (past.length === 0) return true
  const [recordedAt, lat, lng] = past.slice(-VALUES) as [number, number, number]
  if (before.recordedAt - recordedAt < REMEMBERED_EVERY_MS) return false
  return !(isImpossible({ recordedAt, lat, lng }, before) && isImpossible(before, fix))
}

const isFast = (speed: number | null) => speed !== null && speed > MOVING_ABOVE_MPS

export function stateAt(now: number, recordedAt: number, moves: boolean, offlineAfterMs: number): State {
  const ageMs = now - recordedAt
  if (ageMs >= offlineAfterMs) return 'offline'
  return moves && ageMs < MOVED_WITHIN_MS ? 'moving' : 'idle'
}

/** The times at which the state changes without a new fix. */
export function changesAt(recordedAt: number, moves: boolean, offlineAfterMs: number): number[] {
  const offlineAt = recordedAt + offlineAfterMs
  const idleAt = recordedAt + MOVED_WITHIN_MS
  return moves && idleAt < offlineAt ? [idleAt, offlineAt] : [offlineAt]
}
