import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFile, replaceFile } from '../durable-files.ts'
import { attempt, type Holder, InUseError, isAlive, STALE_AFTER_MS } from './lock-holder.ts'

/**
 * The lock of the first releases, which know no other: one file, `<directory>.lock`, that names its holder. This release
 * respects it and holds it as they do, so that neither opens the directory of the other. They believe a holder while its
 * process lives, or, where they cannot look at the process, while its file is less than 10 s old; otherwise they rename the
 * file to `<directory>.lock.<their process id>`, delete that and create their own. Three rules follow:
 *
 * - The file appears whole: they take one that they cannot read for nobody's.
 * - Its host is never theirs: they take a holder of their own host and another boot for dead, and two machines may share a
 *   name.
 * - They may have read a dead holder just before this release replaces it, and move the new file away then. Whoever
 *   replaces one looks again a moment later, and with each renewal.
 */
export interface FirstLock {
  /**
   * Whether it is still ours, which it tells old releases for another 10 s. A file that is gone is created again while the last
   * renewal is younger than `STALE_AFTER_MS`: nobody can have held the lock meanwhile.
   */
  renew(nowMs: number, isFresh: boolean): boolean
  release(): void
}

/** A process that runs goes from reading the file to renaming it within a millisecond. */
const SETTLE_MS = 250

/** Throws an `InUseError` where an old release holds the directory. */
export function checkFirstLock(directory: string, self: Holder): void {
  const found = read(pathOf(directory))
  if (!found) return
  const { holder, ageMs } = found
  const isHeld = holder ? isAlive(holder, self, ageMs) : ageMs < STALE_AFTER_MS
  if (isHeld) throw new InUseError(directory, holder)
}

/** `generation` tells this lock from another of the same process. */
export async function takeFirstLock(directory: string, self: Holder, generation: number): Promise<FirstLock> {
  const path = pathOf(directory)
  const text = JSON.stringify({ ...self, host: `${self.host} (a newer release)`, generation })
  const isOurs = () => readFileSync(path, 'utf8') === text
  if (!createFile(path, text)) {
    checkFirstLock(directory, self)
    replaceFile(path, text)
    await sleep(SETTLE_MS)
    if (!attempt(isOurs, false)) throw new InUseError(directory, null)
  }
  return {
    renew(nowMs, isFresh) {
      try {
        if (!isOurs()) return false
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        if (!isFresh || !createFile(path, text)) return false
      }
      utimesSync(path, nowMs / 1000, nowMs / 1000)
      return true
    },
    release() {
      if (attempt(isOurs, false)) rmSync(path, { force: true })
    },
  }
}

const pathOf = (directory: string) => `${directory}.lock`

/** Undefined where there is none; without a holder where an old release has created it and not written yet. */
function read(path: string): { holder: Holder | null; ageMs: number } | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    const ageMs = Date.now() - statSync(path).mtimeMs
    const holder = attempt<Partial<Holder> | null>(() => JSON.parse(text), null)
    return { holder: typeof holder?.pid === 'number' ? (holder as Holder) : null, ageMs }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}
