import { AsyncResource } from 'node:async_hooks'
import { Worker } from 'node:worker_threads'
import type { FailedRows } from './failed-rows.ts'
import type { Ask, FailedRowsTask, Tell } from './failed-rows-worker.ts'
import { BATCH_WITHIN_MS, READER_HEAP_MB } from './limits.ts'

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
  const compiled = import.meta.url.endsWith('.ts')
    ? '../../dist/src/imports/failed-rows-worker.js'
    : './failed-rows-worker.js'
  const worker = new Worker(new URL(compiled, import.meta.url), {
    workerData: task,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: READER_HEAP_MB },
  })
  const asked: Ask[] = []
  let failure: Error | undefined
  let wake = () => {}
  const fail = (error: Error) => {
    failure ??= error
    wake()
  }
  worker.on('message', (question: Ask) => {
    asked.push(question)
    wake()
  })
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('The thread that writes failed rows ended')))
  const tell = (answer: Tell) => worker.postMessage(answer)

  async function nextPiece(): Promise<Uint8Array | null> {
    const timer = setTimeout(() => fail(new Error('Writing failed rows takes too long')), BATCH_WITHIN_MS)
    try {
      for (;;) {
        const question = asked.shift()
        if (question && 'piece' in question) return question.piece
        if (question && 'end' in question) return null
        if (question) tell({ failed: await failed(question.failedAfter) })
        else if (failure) throw failure
        else {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      }
    } finally {
      clearTimeout(timer)
    }
  }

  const end = () => worker.terminate()
  const first = await nextPiece().catch(async error => {
    await end()
    throw error
  })
  return (async function* () {
    try {
      for (let piece = first; piece !== null; piece = await nextPiece()) {
        yield piece
        tell({ taken: true })
      }
    } finally {
      await end()
    }
  })()
}
