import { type Packed, type Position, pack } from './packed.ts'

/** What the live socket sends. */
export type Message =
  | { type: 'snapshot' | 'positions'; cursor: string; positions: Position[] }
  | { type: 'gone'; subjectIds: string[] }
  | { type: 'watching'; topics: string[] }
  | { type: 'geofence' }
  | { type: 'error'; message: string }

/** What is different since the last ones were taken: first who is gone, then where the others are. */
export interface Changes {
  /** Whether these are all there are. */
  isAll: boolean
  gone: string[]
  positions: Packed
  /** Where to go on from, when all before it has been taken. */
  cursor: string | null
  /** Somebody went into a geofence or out of it; also when there may be more that nobody told of. */
  crossings: boolean
}

/** So many are taken in a millisecond or two: whoever clicks meanwhile comes next. */
const MOST = 2_000

/**
 * What has come and was not taken yet, of each subject what is newest: so it stays as large as the fleet, however long nobody
 * takes it.
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
    /** All that are there at once, or at most `most` that have moved; what is left is for the next time. */
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
