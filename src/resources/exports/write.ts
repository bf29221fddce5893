import { once } from 'node:events'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { newId } from '../../../db/client.ts'
import { bundleOf } from '../../../db/folders.ts'
import type { DataStep } from '../../../db/queries/data-in-steps.ts'
import type { ExportFormat } from '../../../db/queries/export-logs.ts'
import type { SheetAnswer, SheetOrder } from '../../sheets/writers/xlsx-worker.ts'
import { ExportFailure, type Source } from './source.ts'

/** A step is held at most three times: read ahead, in transit, and being written. */
const STEP_BYTES = 1024 * 1024
const FIRST_ROWS = 500
const MIN_ROWS = 50
const MAX_ROWS = 4_000
/** Enough for a million records of 4 KB. */
const LIMITS = { maxFileBytes: 4 * 1024 ** 3 }
/** The rows of a sheet besides the headings; an import reads the first sheet only. */
const MAX_SHEET_ROWS = 1_048_575
/** The heap of the thread that writes a workbook; it takes 60 MB. */
const WORKER_MB = 256

export interface Wanted {
  source: Source
  format: ExportFormat
  /** Only these records, or null for all that exist now. */
  ids: readonly string[] | null
  signal: AbortSignal
  /** Called after each step with the progress so far. */
  onStep?: (done: { count: number; looked: number }) => Promise<void>
}

/** Writes the export to a new file. Throws an ExportFailure if the file is not possible. */
export async function writeExport(
  path: string,
  wanted: Wanted,
  { maxFileBytes } = LIMITS,
): Promise<{ count: number; bytes: number }> {
  const checkSize = (bytes: number) => {
    if (bytes <= maxFileBytes) return
    throw new ExportFailure('The file would be larger than 4 GiB: filter the records, or name fewer fields.')
  }
  const write = wanted.format === 'json' ? writeJson : writeXlsx
  const count = await write(path, wanted, checkSize)
  // Synced before the file gets its name: a power failure must not leave an incomplete file.
  const file = await open(path, 'r')
  await file.sync()
  await file.close()
  return { count, bytes: (await stat(path)).size }
}

/** The steps of the export; the next one is read while one is written. */
async function* readSteps(as: 'records' | 'cells', wanted: Wanted): AsyncGenerator<DataStep> {
  const { source, ids, signal, onStep } = wanted
  // Records created meanwhile are left out; otherwise a simultaneous import could keep the export from ending.
  const until = newId()
  let rows = FIRST_ROWS
  const read = async (after: string | null) => {
    signal.throwIfAborted()
    const step = await source.read(as, { after, until, ids, rows, maxBytes: STEP_BYTES })
    const fitting = step.count === 0 ? MAX_ROWS : (STEP_BYTES / step.text.length) * step.count
    rows = Math.round(Math.min(Math.max(fitting, MIN_ROWS), MAX_ROWS))
    return step
  }
  let count = 0
  let looked = 0
  for (let step = await read(null); ; ) {
    const next = step.ended ? null : read(step.last)
    next?.catch(() => {})
    if (step.count > 0) yield step
    count += step.count
    looked += step.looked
    await onStep?.({ count, looked })
    if (!next) return
    step = await next
  }
}

async function writeJson(path: string, wanted: Wanted, checkSize: (bytes: number) => void): Promise<number> {
  const file = await open(path, 'wx', 0o600)
  try {
    let count = 0
    let bytes = await writeText(file, '[')
    for await (const step of readSteps('records', wanted)) {
      wanted.signal.throwIfAborted()
      bytes += await writeText(file, `${count > 0 ? ',' : ''}\n${step.text}`)
      checkSize(bytes)
      count += step.count
    }
    await writeText(file, '\n]\n')
    return count
  } finally {
    await file.close()
  }
}

async function writeText(file: FileHandle, text: string): Promise<number> {
  await file.writeFile(text)
  return Buffer.byteLength(text)
}

async function writeXlsx(path: string, wanted: Wanted, checkSize: (bytes: number) => void): Promise<number> {
  const { columns, name, timeZone } = wanted.source
  const worker = new Worker(bundleOf('src/sheets/writers/xlsx-worker.ts'), {
    workerData: { path, name, columns, timeZone } satisfies SheetOrder,
    resourceLimits: { maxOldGenerationSizeMb: WORKER_MB },
  })
  const broken = new AbortController()
  worker.on('error', error => broken.abort(error))
  worker.on('exit', () => broken.abort(new Error('The thread that writes a workbook ended')))
  const signal = AbortSignal.any([wanted.signal, broken.signal])
  const put = async (rows: string | null) => {
    signal.throwIfAborted()
    worker.postMessage(rows)
    const [answer] = (await once(worker, 'message', { signal }).catch(error => {
      throw signal.aborted ? signal.reason : error
    })) as [SheetAnswer]
    if ('failure' in answer) throw new ExportFailure(answer.failure)
    checkSize(answer.bytes)
  }
  try {
    let count = 0
    for await (const step of readSteps('cells', wanted)) {
      count += step.count
      if (count > MAX_SHEET_ROWS) {
        throw new ExportFailure(
          'A spreadsheet holds at most 1,048,575 records: filter them, or export them as JSON.',
        )
      }
      await put(step.text)
    }
    await put(null)
    return count
  } finally {
    await worker.terminate()
  }
}
