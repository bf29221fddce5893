import { isUuid } from '../../db/ids.ts'

/**
 * A line of the log for a device that cannot sign in, so that somebody who mounts it finds out why. What strangers send
 * could fill a disk: an identifier has one line a minute, and all of them together have `MAX_LINES`.
 */
const EVERY_MS = 60_000
const MAX_LINES = 20

export interface Refused {
  username: string | undefined
  /** How it tried to prove who it is. */
  by: 'key' | 'connection' | 'token' | 'certificate' | 'nothing'
}

export interface RefusalLog {
  refused(given: Refused): void
}

export function createRefusalLog(options: {
  isDevice: (id: string) => Promise<boolean>
  onNote: ((details: object, message: string) => void) | undefined
}): RefusalLog {
  const { isDevice, onNote = () => {} } = options
  let lines = new Set<string>()
  let left = 0
  let begunAt = Number.NEGATIVE_INFINITY

  function mayWrite(id: string): boolean {
    const now = performance.now()
    if (now - begunAt >= EVERY_MS) {
      if (left > 0) onNote({ count: left }, 'More devices could not sign in within a minute')
      lines = new Set()
      left = 0
      begunAt = now
    }
    if (lines.has(id)) return false
    if (lines.size >= MAX_LINES) {
      left++
      return false
    }
    lines.add(id)
    return true
  }

  async function reasonOf({ by }: Refused, id: string | null): Promise<string> {
    if (by === 'token') return 'the token has ended, or its user may not send positions'
    if (by === 'connection') return 'no connection for trackers has this identifier and key'
    if (by === 'certificate') return 'no device has this certificate, or it is not valid now'
    if (by === 'nothing') return 'it sends no password and shows no certificate'
    if (id === null) return 'the user name has to be the identifier of a device'
    return (await isDevice(id)) ? 'the key is wrong' : 'no device has this identifier'
  }

  return {
    refused(given) {
      // Another text may be a key that was entered in the wrong place.
      const id = isUuid(given.username) ? given.username.toLowerCase() : null
      if (!mayWrite(id ?? given.by)) return
      reasonOf(given, id).then(
        reason => onNote({ ...(id && { deviceId: id }), reason }, 'A device cannot sign in'),
        // The database is away, which is said elsewhere.
        () => {},
      )
    },
  }
}
