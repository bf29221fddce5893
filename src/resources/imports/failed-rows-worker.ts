import { Writable } from 'node:stream'
import { parentPort, workerData } from 'node:worker_threads'
import type { Import } from '../../../db/queries/imports.ts'
import { type FailedRows, writeFailedRows } from './failed-rows.ts'

/**
 * The task of the thread that writes failed rows. It requests the errors, and sends a piece only after the last one was
 * taken.
 */
export interface FailedRowsTask {
  path: string
  found: Pick<Import, 'format' | 'mapping' | 'countsSep'>
}
export type Ask = { failedAfter: number } | { piece: Uint8Array } | { end: true }
export type Tell = { failed: Awaited<ReturnType<FailedRows>> } | { taken: true }

const port = parentPort
if (!port) throw new Error('This only runs in a worker thread')
const answers: Tell[] = []
let wake = () => {}
port.on('message', (answer: Tell) => {
  answers.push(answer)
  wake()
})
async function ask(question: Ask): Promise<Tell> {
  port?.postMessage(question)
  while (answers.length === 0) {
    await new Promise<void>(resolve => {
      wake = resolve
    })
  }
  return answers.shift() as Tell
}

// Only one request at a time.
let last: Promise<unknown> = Promise.resolve()
function inTurn(question: Ask): Promise<Tell> {
  const next = last.then(() => ask(question))
  last = next
  return next
}

const { path, found } = workerData as FailedRowsTask
const to = new Writable({
  highWaterMark: 256 * 1024,
  // Everything written while the last piece was in transit goes in one message, instead of one for each line.
  writev: (chunks: { chunk: Buffer }[], done) =>
    void inTurn({ piece: new Uint8Array(Buffer.concat(chunks.map(({ chunk }) => chunk))) }).then(
      () => done(),
      done,
    ),
  final: done => {
    done()
    void last.then(() => {
      port.postMessage({ end: true } satisfies Ask)
      port.close()
    })
  },
})
await writeFailedRows(
  path,
  found,
  async failedAfter => {
    const answer = await inTurn({ failedAfter })
    return 'failed' in answer ? answer.failed : []
  },
  to,
)
