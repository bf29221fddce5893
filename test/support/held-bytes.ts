import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** Twice: buffers are freed by another thread after a collection, and the next one waits for it. */
function collect(): void {
  gc()
  gc()
}

/** Bytes of this thread's buffers that are in use. */
export function heldBytes(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

/** Bytes of this thread's objects and buffers that are in use. */
export function heldHeapBytes(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
