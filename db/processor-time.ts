import { openSync, readSync } from 'node:fs'

const bytes = Buffer.alloc(64)
let schedstat: number | null | undefined

/**
 * The processor time of this thread so far, in milliseconds, which excludes the work of other threads and processes.
 * Without /proc it falls back to the elapsed time.
 */
export function processorMs(): number {
  // In nanoseconds, the first of three numbers (Linux: Documentation/scheduler/sched-stats).
  schedstat ??= open('/proc/thread-self/schedstat')
  if (schedstat === null) return performance.now()
  const length = readSync(schedstat, bytes, 0, bytes.length, 0)
  return Number(bytes.toString('latin1', 0, length).split(' ', 1)[0]) / 1e6
}

function open(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch {
    return null
  }
}
