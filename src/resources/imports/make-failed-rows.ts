import type { FailedRows } from './failed-rows.ts'
import type { Ask, FailedRowsTask, Tell } from './failed-rows-worker.ts'
import { FAILED_ROWS_WITHIN_MS } from './limits.ts'
import { startThread } from './thread.ts'

/** Lets a thread write the file of an import's failed rows, and passes it on piece by piece. Stops with the signal. */
export async function makeFailedRows(
  task: FailedRowsTask,
  failed: FailedRows,
  write: (piece: Uint8Array) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + FAILED_ROWS_WITHIN_MS
  const late = () => new Error('Writing failed rows takes too long')
  const thread = startThread<Ask>('failed-rows-worker', task, { signal })
  const tell = (answer: Tell) => thread.post(answer)
  try {
    for (;;) {
      const question = await thread.next(Math.max(0, until - performance.now()), late)
      if ('end' in question) return
      if ('failedAfter' in question) tell({ failed: await failed(question.failedAfter) })
      else {
        await write(question.piece)
        tell({ taken: true })
      }
    }
  } finally {
    await thread.end()
  }
}
