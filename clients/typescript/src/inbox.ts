import type { LiveMessage, LivePosition, Topic } from './messages.ts'

/** Changes of topics that a slow reader may leave; beyond it the connection is opened again, and the reader reads them anew. */
const MAX_EVENTS = 10_000

type Event = Exclude<
  LiveMessage,
  { type: 'snapshot' | 'positions' } | { type: 'gone' } | { type: 'watching' }
>

/**
 * Holds what came since the reader took something. Of each subject it keeps the newest position alone, so that a slow reader has
 * no growing queue.
 */
export function createInbox(since: string | null) {
  let cursor = since
  let isSnapshot = false
  /** Also without a position in it: the reader hears that it is connected, and of the cursor. */
  let hasPositions = false
  let positions = new Map<string, LivePosition>()
  let gone = new Set<string>()
  let watching: Topic[] | null = null
  /** The topics that were told last; the answer to a question after a silence tells the same ones. */
  let told = ''
  let events: Event[] = []
  let ended: { error?: unknown } | null = null
  let wake: (() => void) | undefined

  function drain(): LiveMessage[] {
    const messages: LiveMessage[] = []
    if (isSnapshot)
      messages.push({ type: 'snapshot', cursor: cursor as string, positions: [...positions.values()] })
    if (gone.size > 0) messages.push({ type: 'gone', subjectIds: [...gone] })
    if (!isSnapshot && hasPositions)
      messages.push({ type: 'positions', cursor: cursor as string, positions: [...positions.values()] })
    if (watching) messages.push({ type: 'watching', topics: watching })
    messages.push(...events)
    isSnapshot = hasPositions = false
    positions = new Map()
    gone = new Set()
    watching = null
    events = []
    return messages
  }

  return {
    /** Where a lost connection goes on. */
    get cursor() {
      return cursor
    },
    /** A new connection: changes of topics that nobody took are read anew. */
    connect(watches: boolean) {
      events = []
      watching = null
      told = watches ? '' : '[]'
    },
    /** Returns false where the reader has left too much. */
    put(message: LiveMessage): boolean {
      switch (message.type) {
        case 'snapshot':
          isSnapshot = true
          positions = new Map(message.positions.map(position => [position.subjectId, position]))
          gone = new Set()
          cursor = message.cursor
          break
        case 'positions':
          hasPositions = true
          for (const position of message.positions) {
            positions.set(position.subjectId, position)
            gone.delete(position.subjectId)
          }
          cursor = message.cursor
          break
        case 'gone':
          for (const id of message.subjectIds) {
            positions.delete(id)
            if (!isSnapshot) gone.add(id)
          }
          break
        case 'watching':
          if (told !== JSON.stringify(message.topics)) watching = message.topics
          told = JSON.stringify(message.topics)
          break
        default:
          if (events.length >= MAX_EVENTS) return false
          events.push(message)
      }
      wake?.()
      return true
    },
    end() {
      ended ??= {}
      wake?.()
    },
    fail(error: unknown) {
      ended ??= { error }
      wake?.()
    },
    /** The next messages; null after the end. Throws the failure that ended it, after what came before. */
    async take(): Promise<LiveMessage[] | null> {
      for (;;) {
        const messages = drain()
        if (messages.length > 0) return messages
        if (ended) {
          if ('error' in ended) throw ended.error
          return null
        }
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}
