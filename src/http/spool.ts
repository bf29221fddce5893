import type { FileHandle } from 'node:fs/promises'
import { rootOf } from '../../fair/roots.ts'
import { RequestError } from './errors.ts'
import { whenAborted } from './leaving.ts'

/**
 * An answer that passes through a file: it is written as fast as it is produced, and read from its beginning as fast as
 * the client takes it. So a slow client holds a file open, and nothing of what produces the answer.
 */
export interface Spool {
  /** Throws if the file would become too large, or if nobody reads it any more. */
  write(piece: Uint8Array): Promise<void>
  /** Ends the answer. With a `failure`, the reader gets the pieces so far and then its error. */
  end(failure?: { error: unknown }): void
  /** Resolves when there is something to read or the answer has ended; throws if it failed before its first piece. */
  begun(): Promise<void>
  pieces(): AsyncGenerator<Uint8Array>
}

/** The disk space of all spools of a process. It is the only limit on how many slow clients can fill the disk. */
export interface SpoolRoom {
  /**
   * Throws 503 if there is no room for another spool, and 429 if those of its root use as much as is left. A spool that
   * has begun goes on, so all together exceed the limit by at most the files that are written at the same time.
   */
  take(organizationId: string): SpoolPlace
}

export interface SpoolPlace {
  add(bytes: number): void
  giveBack(): void
}

export function createSpoolRoom(maxBytes: number): SpoolRoom {
  const held = new Set<{ root: string; bytes: number }>()
  const sum = (matches: (one: { root: string }) => boolean) =>
    [...held].filter(matches).reduce((bytes, one) => bytes + one.bytes, 0)

  return {
    take(organizationId) {
      const root = rootOf(organizationId)
      const left = maxBytes - sum(() => true)
      if (left <= 0)
        throw new RequestError(
          'unavailable',
          'Too many long files are being read: ask again.',
          {},
          RETRY_AFTER_S,
        )
      if (sum(one => one.root === root) > left) {
        const message =
          'Files that your organization is reading take too much room: finish some of them first.'
        throw new RequestError('rate-limited', message, {}, RETRY_AFTER_S)
      }
      const place = { root, bytes: 0 }
      held.add(place)
      return {
        add(bytes) {
          place.bytes += bytes
        },
        giveBack: () => held.delete(place),
      }
    },
  }
}

const PIECE_BYTES = 64 * 1024
/** A slow client takes its time. */
const RETRY_AFTER_S = 60

/** A spool for one client. The file, which is new, is closed when the client has read all of it or disconnects. */
export function createSpool(
  file: FileHandle,
  place: SpoolPlace,
  maxBytes: number,
  leaving: AbortSignal,
): Spool {
  let written = 0
  let ended: { failure?: { error: unknown } | undefined } | undefined
  let wake = () => {}
  whenAborted(leaving, () => {
    place.giveBack()
    // The file has no name, so an error while closing it has no consequence.
    file.close().catch(() => {})
  })

  /** Whether there are more bytes than `than`; false at the end. */
  async function hasMore(than: number): Promise<boolean> {
    while (written <= than) {
      if (ended?.failure) throw ended.failure.error
      if (ended) return false
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    return true
  }

  return {
    async write(piece) {
      leaving.throwIfAborted()
      if (written + piece.length > maxBytes) throw new Error(`An answer has more than ${maxBytes} bytes`)
      place.add(piece.length)
      await file.writeFile(piece)
      written += piece.length
      wake()
    },
    end(failure) {
      ended ??= { failure }
      wake()
    },
    begun: async () => void (await hasMore(0)),
    async *pieces() {
      try {
        for (let at = 0; await hasMore(at); ) {
          const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, at)
          at += bytesRead
          yield buffer.subarray(0, bytesRead)
        }
      } catch (error) {
        // The file is closed when the client disconnects, so this error is expected.
        if (!leaving.aborted) throw error
      }
    },
  }
}
