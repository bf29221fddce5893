import type { FileHandle } from 'node:fs/promises'

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

const PIECE_BYTES = 64 * 1024

/** For one reader. The file, which is new, is closed when whoever reads has all of it or leaves. */
export function createSpool(file: FileHandle, maxBytes: number, leaving: AbortSignal): Spool {
  let written = 0
  let ended: { failure?: { error: unknown } | undefined } | undefined
  let wake = () => {}
  // It has no name: what its disk says of it when it goes is nobody's.
  const close = () => void file.close().catch(() => {})
  if (leaving.aborted) close()
  else leaving.addEventListener('abort', close, { once: true })

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
      for (let at = 0; await hasMore(at); ) {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, at)
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    },
  }
}
