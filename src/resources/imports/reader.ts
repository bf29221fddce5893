import type { BulkSize } from '../../../db/drivers/driver.ts'
import type { Mapping } from '../../../db/queries/imports.ts'
import { FileError, tooLarge, unimportable } from '../../sheets/file-error.ts'
import { BATCH_WITHIN_MS, INSPECT_WITHIN_MS, READ_WITHIN_MS } from './limits.ts'
import type { GivenMapping, Mappable } from './mapping.ts'
import type { Reading, ReadRow } from './read-rows.ts'
import { toRows } from './row-columns.ts'
import { startThread } from './thread.ts'
import type { Reply, Task } from './worker.ts'

export interface Batch {
  rows: ReadRow[]
  /** The part of the file that is read, 0 to 1. */
  fraction: number
}

/**
 * Finds out the format of a file and the mapping of its columns. It runs in the thread that reads, because thousands of
 * names may be compared. Throws a FileError if the file cannot be imported.
 */
export async function inspectFile(
  path: string,
  type: Mappable,
  given: GivenMapping | null,
): Promise<{ format: Reading['format']; mapping: Mapping }> {
  const thread = startReader({ kind: 'inspect', path, type, given })
  try {
    const message = await thread.next(INSPECT_WITHIN_MS)
    if (!('inspected' in message)) throw new Error('The reader sent an unexpected message')
    return message.inspected
  } finally {
    await thread.end()
  }
}

/** Reads the rows of a file in batches; the next batch is read while one is in use. Throws a FileError. */
export async function* readBatches(
  reading: Reading,
  size: BulkSize,
  signal: AbortSignal,
  withinMs = READ_WITHIN_MS,
): AsyncGenerator<Batch> {
  const thread = startReader({ kind: 'read', reading, size }, signal)
  try {
    thread.ask()
    let leftMs = withinMs
    for (;;) {
      const begun = performance.now()
      const message = await thread.next(Math.min(BATCH_WITHIN_MS, leftMs))
      leftMs -= performance.now() - begun
      // Whatever is there already would still be taken.
      if (leftMs < 0) throw takesLonger()
      if ('alive' in message) continue
      if (!('batch' in message)) throw new Error('The reader sent an unexpected message')
      const { rows, fraction, done } = message.batch
      if (!done) thread.ask()
      yield { rows: toRows(rows), fraction }
      if (done) return
    }
  } finally {
    await thread.end()
  }
}

const takesLonger = () =>
  unimportable('Reading this file takes longer than a file may: save it anew, or split it.')

/** Starts the thread that reads; its refusals are thrown here. */
function startReader(task: Task, signal?: AbortSignal) {
  const explain = (error: NodeJS.ErrnoException) =>
    error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? tooLarge('Reading this file takes more memory than a file may: split it, or send it as .csv.')
      : error
  const thread = startThread<Reply>('worker', task, { signal, explain })
  return {
    ask: () => thread.post('next'),
    async next(withinMs: number): Promise<Exclude<Reply, { error: unknown }>> {
      const reply = await thread.next(withinMs, takesLonger)
      if ('error' in reply) throw new FileError(reply.error.reason, reply.error.message)
      return reply
    },
    end: thread.end,
  }
}
