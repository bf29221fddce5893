import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { createFile, createFolder, replaceFile } from '../durable-files.ts'
import { retry } from '../retry.ts'
import { checkFirstLock, type FirstLock, takeFirstLock } from './first-lock.ts'
import {
  attempt,
  describeProcess,
  type Holder,
  InUseError,
  isAlive,
  RENEW_EVERY_MS,
  STALE_AFTER_MS,
} from './lock-holder.ts'

/**
 * PGlite does not lock its directory, and two processes on one directory destroy it. Node offers no kernel lock, so the
 * lock is a sequence of files beside the directory, `<directory>.lock.<generation>`:
 *
 * - The holder of the highest generation holds the lock. A file appears whole, by link(2), which lets only one of
 *   several
 *   processes create the same generation.
 * - A process takes the lock by creating the generation after the highest, once its holder has released it or is dead.
 *   If
 *   its look was long ago, the generation may no longer be the highest: it looks again afterwards, and withdraws.
 * - Only a holder deletes files, and only generations before its own. So the highest one always exists, even after its
 *   release (the file stays, without a holder), and generations never restart: an old one cannot be mistaken for the
 *   newest.
 *
 * A holder on another host is believed while its file is renewed. A holder that was stopped for longer finds itself
 * succeeded (`look`).
 *
 * Releases before the generations lock with one file (`first-lock.ts`), which this one holds as well. A replacement of
 * this lock has to hold both: an old release may be started on any directory.
 */
interface Generation {
  number: number
  /** Null if it was released. */
  holder: Holder | null
  ageMs: number
}

export interface DirectoryLock {
  /**
   * Whether the lock is still ours; free of cost while it was renewed recently. Unknown if the files cannot be read,
   * for example without a free descriptor: then another process may have taken it, but not necessarily.
   */
  look(): 'held' | 'lost' | 'unknown'
  release(): void
}

const MAX_WAIT_MS = 2_000
const RETRY_MS = 100

/** Waits for a holder that is just ending, such as a killed process, and rejects after that. */
export function lockDirectory(directory: string): Promise<DirectoryLock> {
  const deadline = performance.now() + MAX_WAIT_MS
  return retry(() => tryLock(directory), {
    firstMs: RETRY_MS,
    again: error => error instanceof InUseError && performance.now() < deadline,
  })
}

async function tryLock(directory: string): Promise<DirectoryLock> {
  createFolder(dirname(directory))
  const self = describeProcess(process.pid)
  const highest = findHighest(directory)
  if (highest?.holder && isAlive(highest.holder, self, highest.ageMs)) {
    throw new InUseError(directory, highest.holder)
  }
  checkFirstLock(directory, self)
  const number = (highest?.number ?? 0) + 1
  const path = pathOf(directory, number)
  if (!createFile(path, JSON.stringify(self))) throw new InUseError(directory, null)
  const isHighest = () => Math.max(0, ...listNumbers(directory)) === number
  if (!isHighest()) {
    rmSync(path, { force: true })
    throw new InUseError(directory, null)
  }
  // The previous generation stays: a process that lists the folder meanwhile finds this one or that one.
  for (const older of listNumbers(directory)) {
    if (older < number - 1) rmSync(pathOf(directory, older), { force: true })
  }
  const letGo = () => {
    if (attempt(isHighest, false)) attempt(() => replaceFile(path, 'null'), undefined)
  }
  let first: FirstLock
  try {
    first = await takeFirstLock(directory, self, number)
  } catch (error) {
    letGo()
    throw error
  }

  let renewedAt = Date.now()
  let isOurs = true
  const isFresh = () => Math.abs(Date.now() - renewedAt) <= STALE_AFTER_MS / 2
  const renew = () => {
    if (!isOurs) return
    const now = Date.now()
    try {
      isOurs = isHighest() && first.renew(now, isFresh())
      if (!isOurs) return
      utimesSync(path, now / 1000, now / 1000)
      renewedAt = now
    } catch (error) {
      // If the folder is gone there is nothing left to hold. Any other failure says nothing about the holder.
      isOurs = (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }
  const renewal = setInterval(renew, RENEW_EVERY_MS)
  renewal.unref()
  return {
    look() {
      // A process that was stopped for so long may have been succeeded; the monotonic clock does not count a machine's
      // sleep.
      if (!isFresh()) renew()
      if (!isOurs) return 'lost'
      return isFresh() ? 'held' : 'unknown'
    },
    release() {
      clearInterval(renewal)
      if (isOurs) {
        attempt(first.release, undefined)
        letGo()
      }
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

/** The highest generation, or null if nobody has ever held the lock. */
function findHighest(directory: string): Generation | null {
  for (;;) {
    const number = Math.max(0, ...listNumbers(directory))
    if (number === 0) return null
    const path = pathOf(directory, number)
    try {
      const holder = JSON.parse(readFileSync(path, 'utf8')) as Holder | null
      return { number, holder, ageMs: Date.now() - statSync(path).mtimeMs }
    } catch (error) {
      // It was succeeded or withdrawn during the look; any other error is thrown.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}
