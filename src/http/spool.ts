import type { FileHandle } from 'node:fs/promises'
import { rootOf } from '../../fair/roots.ts'
import { RequestError } from './errors.ts'
import { whenAborted } from './leaving.ts'

/**
 * An answer that goes through a file: it is written as fast as it is made, and read from its beginning as fast as it is
 * taken. So whoever reads slowly holds a file open, and nothing of what makes it.
 */
export interface Spool {
  /** Throws where that is more than the file may have, or nobody reads it any more. */
  write(piece: Uint8Array): Promise<void>
  /** Nothing more comes: it is whole, or this is why it is not, which is thrown behind what there is. */
  end(failure?: { error: unknown }): void
  /** Resolves when there is something to read, or all; throws why there is nothing. */
  begun(): Promise<void>
  pieces(): AsyncGenerator<Uint8Array>
}

/** What the spools of a process have on the disk together, which is all that bounds how many slow readers fill it. */
export interface SpoolRoom {
  /**
   * Throws 503 where there is no room for another, and 429 where those of its root have as much as is left. One that has
   * begun goes on: so all together have at most as many files more as are made at once.
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
/** A slow reader takes its time. */
const RETRY_AFTER_S = 60

/** For one reader. The file, which is new, is closed when whoever reads has all of it or leaves. */
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
    // The file has no name, so an error of closing it concerns nobody.
    file.close().catch(() => {})
  })

  /** Whether there is more than that; false at the end. */
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
        // The file goes with whoever leaves, and that is nobody's error.
        if (!leaving.aborted) throw error
      }
    },
  }
}
