import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'

/**
 * PGlite does not lock its directory, and two processes on one directory destroy it. The lock is a file that names
 * its holder: host, boot, process namespace, process id and the process's start time, since identifiers are used
 * again (in a container the process is always 1). Where the holder lives in another namespace or on another host,
 * it cannot be looked at; there the file's age decides, which the holder renews.
 */
interface Holder {
  host: string
  boot: string
  namespace: string
  pid: number
  started: string
}

const RENEW_EVERY_MS = 2_000
const STALE_AFTER_MS = 10_000
const PATIENCE_MS = 2_000

/** Waits for a holder that is just ending, as one that was killed is, and refuses then. */
export async function lockDirectory(directory: string): Promise<{ release(): void }> {
  for (let deadline = Date.now() + PATIENCE_MS; ; ) {
    try {
      return tryLock(directory)
    } catch (error) {
      if (!(error instanceof InUseError) || Date.now() > deadline) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}

class InUseError extends Error {}

function tryLock(directory: string): { release(): void } {
  const path = `${directory}.lock`
  mkdirSync(dirname(path), { recursive: true })
  const self = describeProcess(process.pid)
  const text = JSON.stringify(self)

  for (let attempt = 0; ; attempt++) {
    try {
      writeFileSync(path, text, { flag: 'wx' })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 3) throw error
    }
    const held = readLock(path)
    if (held && isAlive(held.holder, self, held.ageMs)) {
      throw new InUseError(
        `${directory} is in use by process ${held.holder.pid} on ${held.holder.host}. ` +
          'Stop it first, or give this one another DATA_DIR.',
      )
    }
    // Renamed and not removed: of two that find a dead holder at once, only one moves the file away.
    const aside = `${path}.${process.pid}`
    try {
      renameSync(path, aside)
      rmSync(aside, { force: true })
    } catch {
      // Another process was quicker; look again.
    }
  }

  const renewal = setInterval(() => {
    const now = new Date()
    try {
      utimesSync(path, now, now)
    } catch {
      // The file is gone with its directory; there is nothing left to protect.
    }
  }, RENEW_EVERY_MS)
  renewal.unref()
  return {
    release() {
      clearInterval(renewal)
      if (readLock(path)?.text === text) rmSync(path, { force: true })
    },
  }
}

function readLock(path: string): { holder: Holder; text: string; ageMs: number } | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    return { holder: JSON.parse(text) as Holder, text, ageMs: Date.now() - statSync(path).mtimeMs }
  } catch {
    return undefined
  }
}

function isAlive(holder: Holder, self: Holder, ageMs: number): boolean {
  if (holder.boot !== self.boot && holder.host === self.host) return false
  if (holder.boot !== self.boot || holder.namespace !== self.namespace) return ageMs < STALE_AFTER_MS
  return describeProcess(holder.pid).started === holder.started && holder.started !== ''
}

function describeProcess(pid: number): Holder {
  return { host: hostname(), boot: readBoot(), namespace: readNamespace(), pid, started: readStart(pid) }
}

function readBoot(): string {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
}

function readNamespace(): string {
  return attempt(() => readlinkSync('/proc/self/ns/pid'))
}

/** The process's start in clock ticks since boot, field 22 of proc(5) stat; empty where there is no such process. */
function readStart(pid: number): string {
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, ''))
  if (fields) return fields.split(' ')[19] ?? ''
  if (process.platform === 'linux') return ''
  // Without /proc (macOS) the process's existence has to do.
  return attempt(() => (process.kill(pid, 0) ? 'exists' : ''))
}

function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
