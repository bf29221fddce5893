import { Worker } from 'node:worker_threads'
import { AwayError } from '../failures.ts'
import { bundleOf } from '../folders.ts'
import { retry } from '../retry.ts'
import { checkFormat } from './directory-format.ts'
import { lockDirectory } from './directory-lock.ts'
import type { BulkSize, Driver, Hold, Statement } from './driver.ts'
import { createSession } from './pglite-session.ts'
import type { Answer, Request } from './pglite-worker.ts'

const LOOK_AGAIN_MS = 200
/**
 * Everybody else waits while rows are stored: 200 rows of five short columns take 25 ms of processor time; the same
 * number of characters in long texts, with a trigram index, takes 50 ms, and six times as long right after the start on a slow machine. So a
 * batch has half of it.
 */
const BULK: BulkSize = { rows: 200, characters: 48 * 1024 }

/** Passing values live only for a statement. Node's default of 48 MB would fill up before any is collected. */
const YOUNG_MB = 16

class UnknownHolderError extends Error {
  constructor() {
    super('Nobody can look into the folder of the lock')
  }
}

/**
 * PGlite in a worker thread: SQL blocks its thread, so it must not be the one that reads sockets. PGlite is one
 * session, so a transaction holds it from BEGIN to COMMIT, and everything else waits in line.
 */
export async function openPglite(options: {
  directory: string
  maxFiles?: number
  onError: (error: unknown, doing: string) => void
  onLost?: (error: Error) => void
  onHold?: (hold: Hold) => void
}): Promise<Driver> {
  const lock = await lockDirectory(options.directory)
  try {
    checkFormat(options.directory)
  } catch (error) {
    lock.release()
    throw error
  }
  const worker = new Worker(bundleOf('db/drivers/pglite-worker.ts'), {
    workerData: { directory: options.directory, maxFiles: options.maxFiles },
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })

  const onHold = options.onHold ?? (() => {})
  const session = createSession(onHold)
  const waiting = new Map<
    number,
    { text: string; resolve: (rows: unknown[]) => void; reject: (error: Error) => void }
  >()
  const payloadListeners: ((payload: string) => void)[] = []
  let nextId = 1
  let gone: Error | undefined

  const ask = async (request: Omit<Request, 'id'>): Promise<unknown[]> => {
    if (!gone && lock.look() !== 'held') await whenHeld()
    if (gone) throw gone
    const id = nextId++
    return new Promise((resolve, reject) => {
      waiting.set(id, { text: request.text ?? request.kind, resolve, reject })
      worker.postMessage({ ...request, id })
    })
  }
  /** Two processes that write destroy the files, so no statement runs while the lock's holder is unknown. */
  const whenHeld = () =>
    retry(
      async () => {
        if (gone) return
        const held = lock.look()
        if (held === 'unknown') throw new UnknownHolderError()
        if (held === 'held') return
        // Nothing in progress was acknowledged.
        void worker.terminate()
        lose(new AwayError('Another process has taken over the directory of the embedded database'))
      },
      {
        firstMs: LOOK_AGAIN_MS,
        again(error) {
          options.onError(error, 'looking who holds the directory of the embedded database, trying again')
          return true
        },
      },
    )
  const fail = (error: Error) => {
    gone ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const lose = (error: Error) => {
    if (gone) return
    fail(error)
    options.onLost?.(error)
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
    if (answer.kind === 'upkeep-held') {
      const { ms, processorMs, doing } = answer
      onHold({ lane: 'upkeep', ms, processorMs, longest: doing })
      return
    }
    const request = waiting.get(answer.id)
    waiting.delete(answer.id)
    session.worked(answer.processorMs, request?.text ?? '')
    if (answer.kind === 'rows') request?.resolve(answer.rows)
    else request?.reject(Object.assign(new Error(answer.error.message), answer.error))
  })
  worker.on('error', error => lose(new AwayError('The embedded database has failed', { cause: error })))
  worker.on('exit', () => lose(new AwayError('The thread of the embedded database has ended')))

  try {
    await ask({ kind: 'open' })
  } catch (error) {
    lock.release()
    throw error
  }

  const send = (statement: Statement) => ask({ kind: 'query', ...statement })

  const transaction: Driver['transaction'] = (lane, begin, work, owner) =>
    session.hold(
      lane,
      async () => {
        await ask({ kind: 'exec', text: `BEGIN; ${begin}` })
        try {
          const result = await work(send)
          await ask({ kind: 'exec', text: 'COMMIT' })
          return result
        } catch (error) {
          await ask({ kind: 'exec', text: 'ROLLBACK' }).catch(() => {})
          throw error
        }
      },
      owner,
    )

  return {
    isOneSession: true,
    bulk: BULK,
    run: (lane, statement) => session.hold(lane, () => send(statement)),
    runWriting: statement => session.hold('writing', () => send(statement)),
    copyIn: async ({ into, rows, afterwards }) => {
      const text = `COPY ${into} FROM '/dev/blob' WITH (FORMAT binary); ${afterwards}`
      await session.hold('writing', () => ask({ kind: 'copy', text, rows }))
    },
    transaction,
    setUp: work =>
      transaction('background', '', run =>
        work({ run, exec: async text => void (await ask({ kind: 'exec', text })) }),
      ),
    // The lock of the directory suffices.
    holdWriterLock: async () => async () => {},
    async listen(channel, onPayload) {
      payloadListeners.push(onPayload)
      await ask({ kind: 'listen', text: channel }).catch(error =>
        options.onError(error, 'listening for changes'),
      )
    },
    async close() {
      if (!gone) {
        await session.hold('writing', () => ask({ kind: 'close' }))
        fail(new AwayError('The embedded database is closed'))
        await worker.terminate()
      }
      lock.release()
    },
  }
}
