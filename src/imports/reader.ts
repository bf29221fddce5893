import { Worker } from 'node:worker_threads'
import { FileError, tooLarge, unimportable } from './file-error.ts'
import { BATCH_WITHIN_MS, INSPECT_WITHIN_MS, READER_HEAP_MB } from './limits.ts'
import type { Reading } from './read-rows.ts'
import type { Batch, Reply, Task } from './worker.ts'

/** Of which format a file is, and the names of its columns. Throws a FileError for what cannot be imported. */
export async function inspectFile(
  path: string,
  keys: string[],
): Promise<{ format: Reading['format']; headings: string[] }> {
  const thread = startThread({ kind: 'inspect', path, keys })
  try {
    const message = await thread.next(INSPECT_WITHIN_MS)
    if (!('inspected' in message)) throw new Error('The reader answered something else')
    return message.inspected
  } finally {
    await thread.end()
  }
}

/** The rows of a file, some at a time; while some are used, the next are read. Throws a FileError. */
export async function* readBatches(
  reading: Reading,
  batchRows: number,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  const thread = startThread({ kind: 'read', reading, batchRows })
  const stop = () => void thread.end()
  signal.addEventListener('abort', stop, { once: true })
  try {
    thread.ask()
    for (;;) {
      const message = await thread.next(BATCH_WITHIN_MS)
      if (!('batch' in message)) throw new Error('The reader answered something else')
      if (!message.batch.done) thread.ask()
      yield message.batch
      if (message.batch.done) return
    }
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
    await thread.end()
  }
}

function startThread(workerData: Task) {
  // Tests run from the sources, and a worker thread cannot load TypeScript: there it is the compiled one.
  const compiled = import.meta.url.endsWith('.ts') ? '../../dist/src/imports/worker.js' : './worker.js'
  const worker = new Worker(new URL(compiled, import.meta.url), {
    workerData,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: READER_HEAP_MB },
  })
  const replies: Reply[] = []
  let failure: Error | undefined
  let wake = () => {}
  const fail = (error: Error) => {
    failure ??= error
    wake()
  }
  worker.on('message', (reply: Reply) => {
    replies.push(reply)
    wake()
  })
  worker.on('error', (error: NodeJS.ErrnoException) =>
    fail(
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? tooLarge('Reading this file takes more memory than a file may: split it, or send it as .csv.')
        : error,
    ),
  )
  worker.on('exit', () => fail(new Error('The reader ended')))

  return {
    ask: () => worker.postMessage('next'),
    async next(withinMs: number): Promise<Exclude<Reply, { error: unknown }>> {
      const timer = setTimeout(
        () =>
          fail(unimportable('Reading this file takes longer than a file may: save it anew, or split it.')),
        withinMs,
      )
      try {
        while (replies.length === 0) {
          if (failure) throw failure
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      } finally {
        clearTimeout(timer)
      }
      const reply = replies.shift() as Reply
      if ('error' in reply) throw new FileError(reply.error.reason, reply.error.message)
      return reply
    },
    async end(): Promise<void> {
      await worker.terminate()
    },
  }
}
