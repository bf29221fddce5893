import { Worker } from 'node:worker_threads'
import { bundleOf } from '../../../db/folders.ts'
import { READER_HEAP_MB, READER_YOUNG_MB } from './limits.ts'

/** A worker thread for one file, and its messages in order. */
export interface Thread<Message> {
  post(message: unknown): void
  /** Resolves to the next message, or rejects if none comes any more; rejects with `late` after the given time. */
  next(withinMs: number, late: () => Error): Promise<Message>
  end(): Promise<void>
}

/** Starts the thread. It ends with the signal, whose reason is thrown then. */
export function startThread<Message>(
  name: 'worker' | 'failed-rows-worker',
  workerData: unknown,
  {
    signal,
    explain = error => error,
  }: { signal?: AbortSignal; explain?: (error: NodeJS.ErrnoException) => Error },
): Thread<Message> {
  signal?.throwIfAborted()
  const worker = new Worker(bundleOf(`src/resources/imports/${name}.ts`), {
    workerData,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: READER_HEAP_MB, maxYoungGenerationSizeMb: READER_YOUNG_MB },
  })
  const messages: Message[] = []
  let failure: Error | undefined
  let wake = () => {}
  const fail = (error: Error) => {
    failure ??= error
    wake()
  }
  worker.on('message', (message: Message) => {
    messages.push(message)
    wake()
  })
  worker.on('error', error => fail(explain(error as NodeJS.ErrnoException)))
  worker.on('exit', () => fail(new Error(`The thread ${name} ended`)))
  const stop = () => {
    fail(signal?.reason)
    void worker.terminate()
  }
  signal?.addEventListener('abort', stop)

  return {
    post: message => worker.postMessage(message),
    async next(withinMs, late) {
      const timer = setTimeout(() => fail(late()), withinMs)
      try {
        while (messages.length === 0) {
          if (failure) throw failure
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      } finally {
        clearTimeout(timer)
      }
      return messages.shift() as Message
    },
    async end() {
      signal?.removeEventListener('abort', stop)
      await worker.terminate()
    },
  }
}
