import { openSync, readSync } from 'node:fs'

const bytes = Buffer.alloc(64)
let schedstat: number | null | undefined

/**
 * The time that this thread has spent on a processor so far, in milliseconds: work of other threads and processes does not
 * count, unlike in a difference of two times, which it is where there is no /proc.
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
