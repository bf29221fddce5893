import { Worker } from 'node:worker_threads'
import type { Driver, Statement } from './client.ts'
import { lockDirectory } from './directory-lock.ts'
import type { Answer, Request } from './pglite-worker.ts'

/**
 * PGlite in a worker thread: SQL blocks its thread, so it must not be the one that reads sockets. PGlite is one
 * session, so a transaction owns it from BEGIN to COMMIT, and everything else waits in line.
 */
export async function openPglite(options: {
  directory: string
  onError: (error: unknown, doing: string) => void
}): Promise<Driver> {
  const lock = await lockDirectory(options.directory)
  // Tests run from the sources, and a worker thread cannot load TypeScript: there it is the compiled one.
  const compiled = import.meta.url.endsWith('.ts') ? '../dist/db/pglite-worker.js' : './pglite-worker.js'
  const worker = new Worker(new URL(compiled, import.meta.url), {
    workerData: { directory: options.directory },
    execArgv: [],
  })

  const waiting = new Map<number, { resolve: (rows: unknown[]) => void; reject: (error: Error) => void }>()
  const payloadListeners: ((payload: string) => void)[] = []
  let nextId = 1
  let gone: Error | undefined

  const ask = (request: Omit<Request, 'id'>): Promise<unknown[]> => {
    if (gone) return Promise.reject(gone)
    const id = nextId++
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker.postMessage({ ...request, id })
    })
  }
  const fail = (error: Error) => {
    gone ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('message', (answer: Answer) => {
    if (answer.kind === 'notification') {
      for (const listener of payloadListeners) listener(answer.payload)
      return
    }
    if (answer.kind === 'upkeep-failed') {
      options.onError(answer.error, 'upkeep of the embedded database')
      return
    }
    const request = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (answer.kind === 'rows') request?.resolve(answer.rows)
    else request?.reject(Object.assign(new Error(answer.error.message), answer.error))
  })
  worker.on('error', error => {
    options.onError(error, 'embedded database')
    fail(error)
  })
  worker.on('exit', () => fail(new Error('The embedded database is closed')))

  try {
    await ask({ kind: 'open' })
  } catch (error) {
    lock.release()
    throw error
  }

  let tail: Promise<unknown> = Promise.resolve()
  const inLine = <T>(work: () => Promise<T>): Promise<T> => {
    const result = tail.then(work)
    tail = result.catch(() => {})
    return result
  }
  const send = (statement: Statement) => ask({ kind: 'query', ...statement })
  const run = (statement: Statement) => inLine(() => send(statement))

  const transaction: Driver['transaction'] = (begin, work) =>
    inLine(async () => {
      await ask({ kind: 'exec', text: begin })
      try {
        const result = await work(send)
        await ask({ kind: 'exec', text: 'COMMIT' })
        return result
      } catch (error) {
        await ask({ kind: 'exec', text: 'ROLLBACK' }).catch(() => {})
        throw error
      }
    })

  return {
    run,
    runWriting: run,
    copyIn: async ({ into, rows, afterwards }) => {
      const text = `COPY ${into} FROM '/dev/blob' WITH (FORMAT binary); ${afterwards}`
      await inLine(() => ask({ kind: 'copy', text, rows }))
    },
    transaction,
    setUp: work => transaction('BEGIN', work),
    listen(channel, onPayload) {
      payloadListeners.push(onPayload)
      ask({ kind: 'listen', text: channel }).catch(error => options.onError(error, 'listening for changes'))
    },
    async close() {
      if (!gone) {
        await inLine(() => ask({ kind: 'close' }))
        await worker.terminate()
      }
      lock.release()
    },
  }
}
