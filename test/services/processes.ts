import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The processes that work in `folder` or below. PostgreSQL's children have sessions of their own and write their titles
 * over their environment, so neither a process group nor a variable finds all of them; their folder does.
 */
export function processesIn(folder: string): number[] {
  const processes: number[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const workingFolder = readLink(`/proc/${name}/cwd`)
    if (workingFolder === folder || workingFolder?.startsWith(`${folder}/`)) processes.push(Number(name))
  }
  return processes
}

/** Resident memory (proc(5)) in MiB; 0 if there is no such process. */
export function residentMiB(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** Whether the process has an open TCP connection from this port of 127.0.0.1 (proc(5)). */
export function ownsPort(pid: number, port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const inodes = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, local]) => local?.endsWith(`:${hex}`))
    .map(fields => `socket:[${fields[9]}]`)
  try {
    return readdirSync(`/proc/${pid}/fd`).some(name =>
      inodes.includes(readLink(`/proc/${pid}/fd/${name}`) ?? ''),
    )
  } catch {
    return false
  }
}

/** Stops all of them. A process may fork while the list is read, so it is read until it has no new process. */
export function freeze(folder: string): void {
  const frozen = new Set<number>()
  for (;;) {
    const running = processesIn(folder).filter(process => !frozen.has(process))
    if (running.length === 0) return
    for (const process of running) {
      signal(process, 'SIGSTOP')
      frozen.add(process)
    }
  }
}

export function thaw(folder: string): void {
  for (const process of processesIn(folder)) signal(process, 'SIGCONT')
}

/** They are frozen first: a child that outlives its parent for a moment could still write, which no crash allows. */
export async function killAll(folder: string): Promise<void> {
  freeze(folder)
  for (const process of processesIn(folder)) signal(process, 'SIGKILL')
  while (processesIn(folder).length > 0) await sleep(5)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended since it was listed.
  }
}

/** Null for a process that has ended, is a zombie or belongs to another user. */
function readLink(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
