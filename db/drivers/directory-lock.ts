import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
import { createFile, createFolder, replaceFile } from '../durable-files.ts'
import { retry } from '../retry.ts'

/**
 * PGlite does not lock its directory, and two processes on one directory destroy it. Node has no lock of the kernel's to
 * offer, so the lock is a row of files beside the directory, `<directory>.lock.<generation>`:
 *
 * - Whoever holds the highest generation holds the lock. A file appears whole, by link(2), which of several that want the
 *   same generation lets one have it.
 * - The lock is taken by creating the generation after the highest, when its holder has let go or is dead. Who looked
 *   long ago may create one that is not the highest any more: it looks again afterwards, and withdraws.
 * - Only a holder deletes, and only generations before its own. So the highest is always there, also after it was let go
 *   (the file stays, without a holder), and generations never begin anew: nobody can mistake an old one for the newest.
 *
 * A holder is named by host, boot, process namespace, process id and the process's start, since identifiers are used again
 * (in a container the process is always 1). One in another namespace or on another host cannot be looked at; there the
 * file's age decides, which the holder renews. A holder that was stopped for longer finds itself succeeded (`look`).
 */
interface Holder {
  host: string
  boot: string
  namespace: string
  pid: number
  started: string
}

interface Generation {
  number: number
  /** Null where it was let go. */
  holder: Holder | null
  ageMs: number
}

export interface DirectoryLock {
  /**
   * Whether it is still ours; costs nothing while it was renewed lately. Unknown where nobody can look, such as without a
   * free descriptor: then somebody else may take it, and has not necessarily.
   */
  look(): 'held' | 'lost' | 'unknown'
  release(): void
}

const RENEW_EVERY_MS = 2_000
const STALE_AFTER_MS = 10_000
const PATIENCE_MS = 2_000
const RETRY_MS = 100

/** Waits for a holder that is just ending, as one that was killed is, and rejects then. */
export function lockDirectory(directory: string): Promise<DirectoryLock> {
  const deadline = performance.now() + PATIENCE_MS
  return retry(async () => tryLock(directory), {
    firstMs: RETRY_MS,
    again: error => error instanceof InUseError && performance.now() < deadline,
  })
}

class InUseError extends Error {}

function tryLock(directory: string): DirectoryLock {
  createFolder(dirname(directory))
  const self = describeProcess(process.pid)
  const highest = findHighest(directory)
  if (highest?.holder && isAlive(highest.holder, self, highest.ageMs)) {
    throw new InUseError(
      `${directory} is in use by process ${highest.holder.pid} on ${highest.holder.host}. ` +
        'Stop it first, or give this one another DATA_DIR.',
    )
  }
  const number = (highest?.number ?? 0) + 1
  const path = pathOf(directory, number)
  if (!createFile(path, JSON.stringify(self))) throw new InUseError(`${directory} is being taken into use`)
  const isHighest = () => Math.max(0, ...listNumbers(directory)) === number
  if (!isHighest()) {
    rmSync(path, { force: true })
    throw new InUseError(`${directory} is being taken into use`)
  }
  // The one before stays: whoever lists the folder while it is succeeded finds this one or the other.
  for (const older of listNumbers(directory)) {
    if (older < number - 1) rmSync(pathOf(directory, older), { force: true })
  }

  let renewedAt = Date.now()
  let isOurs = true
  const isFresh = () => Math.abs(Date.now() - renewedAt) <= STALE_AFTER_MS / 2
  const renew = () => {
    if (!isOurs) return
    const now = Date.now()
    try {
      isOurs = isHighest()
      if (!isOurs) return
      utimesSync(path, now / 1000, now / 1000)
      renewedAt = now
    } catch (error) {
      // Where the folder is gone there is nothing left to hold. Any other failure says nothing of who holds it.
      isOurs = (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }
  const renewal = setInterval(renew, RENEW_EVERY_MS)
  renewal.unref()
  return {
    look() {
      // Whoever was stopped for so long may have been succeeded; the other clock does not count a machine's sleep.
      if (!isFresh()) renew()
      if (!isOurs) return 'lost'
      return isFresh() ? 'held' : 'unknown'
    },
    release() {
      clearInterval(renewal)
      if (isOurs && attempt(isHighest, false)) attempt(() => replaceFile(path, 'null'), undefined)
      isOurs = false
    },
  }
}

const pathOf = (directory: string, number: number) => `${directory}.lock.${number}`

function listNumbers(directory: string): number[] {
  const prefix = `${basename(directory)}.lock.`
  return readdirSync(dirname(directory)).flatMap(name => {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : ''
    return /^[1-9]\d{0,14}$/.test(number) ? Number(number) : []
  })
}

/** The highest generation, or null where nobody ever held the lock. */
function findHighest(directory: string): Generation | null {
  for (;;) {
    const number = Math.max(0, ...listNumbers(directory))
    if (number === 0) return null
    const path = pathOf(directory, number)
    try {
      const holder = JSON.parse(readFileSync(path, 'utf8')) as Holder | null
      return { number, holder, ageMs: Date.now() - statSync(path).mtimeMs }
    } catch (error) {
      // It was succeeded or withdrawn while it was looked at; anything else has to be seen.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

function isAlive(holder: Holder, self: Holder, ageMs: number): boolean {
  if (holder.boot !== self.boot || holder.namespace !== self.namespace) return ageMs < STALE_AFTER_MS
  return describeProcess(holder.pid).started === holder.started && holder.started !== ''
}

function describeProcess(pid: number): Holder {
  return { host: hostname(), boot: readBoot(), namespace: readNamespace(), pid, started: readStart(pid) }
}

function readBoot(): string {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), '')
}

function readNamespace(): string {
  return attempt(() => readlinkSync('/proc/self/ns/pid'), '')
}

/**
 * The process's start in clock ticks since boot, field 22 of proc(5) stat; empty where there is no such process. Throws where
 * nobody can look, which is no sign that it has ended.
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
  // Without /proc (macOS) the process's existence has to do.
  return attempt(() => (process.kill(pid, 0) ? 'exists' : ''), '')
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
