import { AsyncResource } from 'node:async_hooks'
import type { FailedRows } from './failed-rows.ts'
import type { Ask, FailedRowsTask, Tell } from './failed-rows-worker.ts'
import { BATCH_WITHIN_MS, SEND_WITHIN_MS } from './limits.ts'
import { startThread } from './thread.ts'

/**
 * The file of an import's failed rows, piece by piece as a thread writes it. The first piece is made before this resolves,
 * so that a failure is still an answer with a status of its own.
 */
export async function streamFailedRows(
  task: FailedRowsTask,
  given: FailedRows,
): Promise<AsyncGenerator<Uint8Array>> {
  // What is read later is asked for by the socket, and is on behalf of the request all the same (`db/demand.ts`).
  const failed = AsyncResource.bind(given)
  const thread = startThread<Ask>('failed-rows-worker', task)
  const tell = (answer: Tell) => thread.post(answer)

  async function nextPiece(): Promise<Uint8Array | null> {
    for (;;) {
      const question = await thread.next(
        BATCH_WITHIN_MS,
        () => new Error('Writing failed rows takes too long'),
      )
      if ('piece' in question) return question.piece
      if ('end' in question) return null
      tell({ failed: await failed(question.failedAfter) })
    }
  }

  const first = await nextPiece().catch(async error => {
    await thread.end()
    throw error
  })
  return (async function* () {
    const begun = performance.now()
    try {
      for (let piece = first; piece !== null; piece = await nextPiece()) {
        // Whoever takes little at a time holds a thread that others wait for.
        if (performance.now() - begun > SEND_WITHIN_MS) throw new Error('Failed rows are taken too slowly')
        yield piece
        tell({ taken: true })
      }
    } finally {
      await thread.end()
    }
  })()
}
