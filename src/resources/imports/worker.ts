import { parentPort, workerData } from 'node:worker_threads'
import type { BulkSize } from '../../../db/drivers/driver.ts'
import type { Mapping } from '../../../db/queries/imports.ts'
import { FileError } from '../../sheets/file-error.ts'
import { detectFormat } from '../../sheets/format.ts'
import { openSource, readHeadings, readSample } from '../../sheets/open-source.ts'
import { checkHeadings, chooseMapping, type GivenMapping, type Mappable } from './mapping.ts'
import type { Reading } from './read-rows.ts'
import { RowCollector, type RowColumns } from './row-columns.ts'

/**
 * The thread that reads a file, so that the time and memory it costs affect nobody else. It returns one batch for each
 * request, and does not use the database.
 */
export type Task =
  | { kind: 'inspect'; path: string; type: Mappable; given: GivenMapping | null }
  | { kind: 'read'; reading: Reading; size: BulkSize }

export interface ReadBatch {
  rows: RowColumns
  fraction: number
  done: boolean
}

export type Reply =
  | { inspected: { format: Reading['format']; mapping: Mapping } }
  | { batch: ReadBatch }
  /** The thread works, but no batch is ready yet. */
  | { alive: true }
  | { error: { reason: FileError['reason']; message: string } }

const port = parentPort
if (!port) throw new Error('This only runs in a worker thread')
const reply = (message: Reply) => port.postMessage(message)

async function inspect(path: string, type: Mappable, given: GivenMapping | null): Promise<void> {
  const format = await detectFormat(path)
  const keys = type.fields.map(({ key }) => key)
  const source = await openSource({ path, format }, keys, { header: true })
  try {
    const header = await readHeadings(source)
    if (!source.isKeyed) checkHeadings(header.headings)
    // The columns of JSON are the keys, and an import config names the columns of a table.
    const sample = given || source.isKeyed ? [] : await readSample(source)
    const byKey =
      format === 'json' && (!given || given.isConfig) ? Object.fromEntries(keys.map(key => [key, key])) : null
    reply({
      inspected: { format, mapping: byKey ?? chooseMapping(type, given?.mapping ?? null, header, sample) },
    })
  } finally {
    source.close()
  }
}

async function read(reading: Reading, size: BulkSize): Promise<void> {
  // Loaded only here: the code that checks values is large, and a header needs none of it.
  const { openFile } = await import('./read-file.ts')
  const file = openFile(reading, () => reply({ alive: true }))
  const asked = requests()
  for (;;) {
    await asked.next()
    const batch = new RowCollector()
    let done = false
    while (batch.count < size.rows && batch.characters < size.characters && !done) {
      const next = await file.rows.next()
      if (next.done) done = true
      else batch.add(next.value)
    }
    reply({ batch: { rows: batch.columns, fraction: file.fraction(), done } })
    if (done) return file.close()
  }
}

/** Yields once for each message. */
async function* requests(): AsyncGenerator<void> {
  let waiting = 0
  let wake = () => {}
  port?.on('message', () => {
    waiting++
    wake()
  })
  for (;;) {
    while (waiting === 0) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    waiting--
    yield
  }
}

const task = workerData as Task
try {
  await (task.kind === 'inspect' ? inspect(task.path, task.type, task.given) : read(task.reading, task.size))
} catch (error) {
  if (!(error instanceof FileError)) throw error
  reply({ error: { reason: error.reason, message: error.message } })
}
port.close()
