import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { progress } from './report.ts'

/**
 * Processor time from /proc (proc(5)), in seconds. While others use the same machine, the processor time of a point
 * still shows what the rate would be; on a quiet machine the ratios of both agree.
 */
const TICKS_PER_SECOND = 100

/** The processor time of processes, and of their children that have ended. */
export function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuOfOne(pid), 0)
}

/** 0 if the process does not exist. */
function cpuOfOne(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
  } catch {
    return 0
  }
}

/** The share of all cores that others may use when a measurement begins, and the time between two looks at it. */
const QUIET_SHARE = 0.1
const LOOK_MS = 500

/** Waits until the machine has little else to do, or until `patienceSeconds` have passed. */
export async function quietMoment(patienceSeconds: number): Promise<void> {
  const deadline = performance.now() + patienceSeconds * 1000
  for (;;) {
    const before = busySeconds()
    await sleep(LOOK_MS)
    const share = (busySeconds() - before) / (LOOK_MS / 1000) / availableParallelism()
    if (share < QUIET_SHARE) return
    if (performance.now() > deadline) {
      progress(`others use ${Math.round(share * 100)} % of the machine`)
      return
    }
  }
}

/** The busy time of all cores since the machine started: everything except idle and waiting for the disk. */
function busySeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND
}
