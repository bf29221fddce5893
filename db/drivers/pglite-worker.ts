import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import { type Extension, PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { syncFolder, syncTree } from '../durable-files.ts'
import { PROJECT } from '../folders.ts'
import { processorMs } from '../processor-time.ts'
import { writeFormat } from './directory-format.ts'
import { DurableFiles } from './pglite-files.ts'
import { createRoom, type Room } from './pglite-room.ts'
import { templatePath, unpackTemplate } from './pglite-template.ts'
import { createUpkeep } from './pglite-upkeep.ts'

/** A request of the main thread; requests are answered in order. */
export interface Request {
  id: number
  kind: 'open' | 'query' | 'exec' | 'copy' | 'listen' | 'close'
  text?: string
  values?: readonly unknown[]
  asArrays?: boolean
  /** The contents of '/dev/blob'. */
  rows?: Uint8Array
}

export type Answer =
  | { kind: 'rows'; id: number; rows: unknown[]; processorMs: number }
  | { kind: 'error'; id: number; error: Failure; processorMs: number }
  | { kind: 'notification'; payload: string }
  | { kind: 'upkeep-failed'; error: Failure }
  | { kind: 'upkeep-held'; doing: string; ms: number; processorMs: number }

interface Failure {
  message: string
  code?: string
  constraint?: string
  detail?: string
}

const DATE_OID = 1082
const SETTINGS = {
  /**
   * New entries wait in a list of each GIN index, and the statement that fills the list sorts all of them in. That takes
   * 70 ms of processor time with this size and 200 ms with PostgreSQL's 4 MB, while nobody else has a turn. Smaller lists
   * cost more in total.
   */
  gin_pending_list_limit: '1MB',
  /** Pages that are not in these buffers are in the system's page cache. PostgreSQL's 128 MB are 96 MB more at rest. */
  shared_buffers: '32MB',
  maintenance_work_mem: '16MB',
}
const toParams = (settings: object) =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

const port = parentPort
if (!port) throw new Error('This module runs as a worker thread')
const { directory, maxFiles } = workerData as { directory: string; maxFiles?: number }

// Compiling WebAssembly's hot functions on all threads of V8 at once takes 40 MB more, which malloc never returns.
setFlagsFromString('--wasm-num-compilation-tasks=1')

/** The package that `npm run build` makes of @electric-sql/pglite-postgis (slim-postgis.mjs). */
const postgis: Extension = {
  name: 'postgis',
  setup: async (_pglite, emscriptenOpts) => ({
    emscriptenOpts,
    bundlePath: pathToFileURL(join(PROJECT, 'dist/db/drivers/postgis.tar.gz')),
  }),
}

let pglite: PGlite
let files: DurableFiles
let room: Room
let upkeep: ReturnType<typeof createUpkeep>
// PGlite queues by itself, but a transaction's statements and the maintenance must not interleave.
let tail: Promise<void> = Promise.resolve()

const post = (answer: Answer) => port.postMessage(answer)

port.on('message', (request: Request) => {
  tail = tail.then(async () => {
    const { id } = request
    const before = processorMs()
    try {
      const rows = await answer(request)
      post({ kind: 'rows', id, rows, processorMs: processorMs() - before })
    } catch (error) {
      // Nobody knows then whether it is committed: the thread ends, and the state on the disk counts.
      if (files?.failure || hasEnded(error)) throw error
      const failure = room?.explain(toFailure(error)) ?? toFailure(error)
      post({ kind: 'error', id, error: failure, processorMs: processorMs() - before })
    }
  })
})

/**
 * Whether PostgreSQL has ended in the middle, as it does when it cannot write its log. PGlite reports it once and never
 * answers again: later requests would wait forever.
 */
function hasEnded(error: unknown): boolean {
  const { severity, name } = error as { severity?: string; name?: string }
  return severity === 'PANIC' || name === 'RuntimeError'
}

async function answer(request: Request): Promise<unknown[]> {
  const text = request.text ?? ''
  if (room && !pglite.isInTransaction()) await room.look()
  switch (request.kind) {
    case 'open':
      await open()
      return []
    case 'query': {
      const values = (request.values ?? []).map(value =>
        value instanceof Uint8Array ? Buffer.from(value) : value,
      )
      const result = await pglite.query(text, values, { rowMode: request.asArrays ? 'array' : 'object' })
      return result.rows
    }
    case 'exec':
      await pglite.exec(text)
      return []
    case 'copy':
      await pglite.exec(text, { blob: new Blob([request.rows as Uint8Array<ArrayBuffer>]) })
      return []
    case 'listen':
      await pglite.listen(text, payload => post({ kind: 'notification', payload }))
      return []
    case 'close':
      upkeep.stop()
      await pglite.close()
      return []
  }
}

async function open(): Promise<void> {
  if (!existsSync(join(directory, 'PG_VERSION'))) await createDirectory()
  files = new DurableFiles(directory)
  pglite = await PGlite.create({
    fs: files,
    startParams: [
      ...PGlite.defaultStartParams,
      ...toParams({ ...SETTINGS, ...(maxFiles === undefined ? {} : { max_files_per_process: maxFiles }) }),
    ],
    extensions: { postgis, pg_trgm },
    parsers: { [DATE_OID]: (text: string) => text },
  })
  // The library is compiled. Its 17 MB in the module's file system are not read again; only its name is needed.
  pglite.Module.FS.truncate('/pglite/lib/postgresql/postgis-3.so', 0)
  room = createRoom(pglite, directory)
  upkeep = createUpkeep(pglite, {
    room,
    whenIdle: (doing, work) => {
      tail = tail.then(async () => {
        if (pglite.isInTransaction()) return
        const [begun, before] = [performance.now(), processorMs()]
        await work()
        const ms = performance.now() - begun
        post({ kind: 'upkeep-held', doing, ms, processorMs: processorMs() - before })
      })
      return tail
    },
    onError: error => post({ kind: 'upkeep-failed', error: toFailure(error) }),
  })
}

/** The directory appears whole: an unfinished first start is repeated. */
async function createDirectory(): Promise<void> {
  const draft = `${directory}.draft`
  rmSync(draft, { recursive: true, force: true })
  const template = templatePath()
  if (existsSync(template)) unpackTemplate(template, draft)
  else await (await PGlite.create({ fs: new DurableFiles(draft) })).close()
  writeFormat(draft)
  syncTree(draft)
  renameSync(draft, directory)
  syncFolder(dirname(directory))
}

function toFailure(error: unknown): Failure {
  const { message, code, constraint, detail } = error as Failure
  return { message, code, constraint, detail }
}
