import { type Packed, type Position, pack } from './packed.ts'

/** The messages of the live socket. */
export type Message =
  | { type: 'snapshot' | 'positions'; cursor: string; positions: Position[] }
  | { type: 'gone'; subjectIds: string[] }
  | { type: 'watching'; topics: string[] }
  | { type: 'geofence' }
  | { type: 'error'; message: string }

/** The changes since the last ones were taken: first the removed subjects, then the new positions. */
export interface Changes {
  /** Whether the positions are a snapshot of all subjects. */
  isAll: boolean
  gone: string[]
  positions: Packed
  /** The cursor to resume from, once all changes before it are taken. */
  cursor: string | null
  /** A subject may have entered or left a geofence. */
  crossings: boolean
}

/** Taking this many positions lasts a millisecond or two, after which a click is handled. */
const MOST = 2_000

/**
 * Collects changes until they are taken, and keeps only the newest position of each subject. It grows no larger than the
 * fleet, however late they are taken.
 */
export function createChanges() {
  let isAll = false
  let gone = new Set<string>()
  const moved = new Map<string, Position>()
  let cursor: string | null = null
  let crossings = false
  let watches = false

  return {
    hear(message: Message) {
      if (message.type === 'snapshot') {
        isAll = true
        gone.clear()
        moved.clear()
      }
      if (message.type === 'snapshot' || message.type === 'positions') {
        for (const position of message.positions) moved.set(position.subjectId, position)
        cursor = message.cursor
      } else if (message.type === 'gone') {
        for (const id of message.subjectIds) {
          moved.delete(id)
          gone.add(id)
        }
      } else if (message.type === 'geofence' || (message.type === 'watching' && !watches)) {
        watches = true
        crossings = true
      }
    },
    /** Takes a whole snapshot, or at most `most` new positions. The others remain for the next call. */
    take(most = MOST): { changes: Changes; isLast: boolean } {
      const taken: Position[] = []
      for (const position of moved.values()) {
        if (!isAll && taken.length === most) break
        taken.push(position)
      }
      for (const { subjectId } of taken) moved.delete(subjectId)
      const isLast = moved.size === 0
      const changes = {
        isAll,
        gone: [...gone],
        positions: pack(taken),
        cursor: isLast ? cursor : null,
        crossings,
      }
      isAll = false
      gone = new Set()
      crossings = false
      if (isLast) cursor = null
      return { changes, isLast }
    },
  }
}
