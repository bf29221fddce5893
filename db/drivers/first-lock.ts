import { readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFile, replaceFile } from '../durable-files.ts'
import { attempt, type Holder, InUseError, isAlive, STALE_AFTER_MS } from './lock-holder.ts'

/**
 * The lock of the first releases, which know no other: one file, `<directory>.lock`, that names its holder. This
 * release respects and holds it in the same way, so that neither opens the other's directory. The first releases
 * believe a holder while its process lives or, if they cannot look at the process, while its file is less than 10 s
 * old. Otherwise they rename the file to `<directory>.lock.<their process id>`, delete that and create their own. Three
 * rules follow:
 *
 * - The file appears whole: a file that they cannot read counts as free.
 * - Its host never equals theirs: a holder on their own host with another boot counts as dead, and two machines may
 *   have
 *   the same name.
 * - They may have read a dead holder just before this release replaces it, and then move the new file away. So this
 *   release looks again a moment after a replacement, and with each renewal.
 */
export interface FirstLock {
  /**
   * Whether the lock is still ours; old releases believe it for another 10 s then. A missing file is created again
   * while the last renewal is younger than `STALE_AFTER_MS`: nobody can have held the lock meanwhile.
   */
  renew(nowMs: number, isFresh: boolean): boolean
  release(): void
}

/** A running process gets from reading the file to renaming it within a millisecond. */
const SETTLE_MS = 250

/** Throws an `InUseError` if an old release holds the directory. */
export function checkFirstLock(directory: string, self: Holder): void {
  const found = read(pathOf(directory))
  if (!found) return
  const { holder, ageMs } = found
  const isHeld = holder ? isAlive(holder, self, ageMs) : ageMs < STALE_AFTER_MS
  if (isHeld) throw new InUseError(directory, holder)
}

/** `generation` distinguishes this lock from another one of the same process. */
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

/** Undefined without a file; no holder if an old release has created the file and not written it yet. */
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
