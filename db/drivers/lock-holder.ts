import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * The process that holds the lock of a directory, identified by host, boot, process namespace, process id and the
 * process's start time, since process ids are reused (in a container the process is always 1). Every release writes it
 * so.
 */
export interface Holder {
  host: string
  boot: string
  namespace: string
  pid: number
  started: string
}

/** Another process holds the directory. */
export class InUseError extends Error {
  constructor(directory: string, holder: Holder | null) {
    const { pid, host } = holder ?? {}
    super(
      holder
        ? `${directory} is in use by process ${pid} on ${host}. Stop it first, or give this one another DATA_DIR.`
        : `${directory} is being taken into use`,
    )
  }
}

export const RENEW_EVERY_MS = 2_000
/** A holder in another namespace or on another host cannot be checked, so the age of its file decides. */
export const STALE_AFTER_MS = 10_000

export function isAlive(holder: Holder, self: Holder, ageMs: number): boolean {
  if (holder.boot !== self.boot || holder.namespace !== self.namespace) return ageMs < STALE_AFTER_MS
  return describeProcess(holder.pid).started === holder.started && holder.started !== ''
}

export function describeProcess(pid: number): Holder {
  return { host: hostname(), boot: readBoot(), namespace: readNamespace(), pid, started: readStart(pid) }
}

function readBoot(): string {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), '')
}

function readNamespace(): string {
  return attempt(() => readlinkSync('/proc/self/ns/pid'), '')
}

/**
 * The process's start in clock ticks since boot, field 22 of proc(5) stat; empty if there is no such process. Throws if
 * it cannot be read, which does not mean that the process has ended.
 */
function readStart(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
    return fields.split(' ')[19] ?? ''
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ESRCH') throw error
  }
  if (process.platform === 'linux') return ''
  // Without /proc (macOS), the existence of the process has to suffice.
  return attempt(() => (process.kill(pid, 0) ? 'exists' : ''), '')
}

export function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
