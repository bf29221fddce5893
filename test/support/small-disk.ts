import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MIB = 1024 * 1024
const BALLAST = 'ballast'

/** A disk in memory, small enough to be filled. */
export interface SmallDisk {
  /** Fills it up to this many MiB. */
  fill(leaveMib: number): void
  empty(): void
  unmount(): void
}

/** The reason why mounting is impossible here, or undefined. */
export function mountingMissing(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-disk-'))
  const { status, stderr, error } = mount(folder, 1)
  if (status === 0) spawnSync('umount', [folder])
  rmdirSync(folder)
  return status === 0 ? undefined : `No disk can be mounted here: ${error?.message ?? stderr}`
}

export function mountSmallDisk(folder: string, mib: number): SmallDisk {
  const { status, stderr } = mount(folder, mib)
  if (status !== 0) throw new Error(stderr)
  const ballast = join(folder, BALLAST)
  return {
    fill(leaveMib) {
      const { bavail, bsize } = statfsSync(folder)
      const file = openSync(ballast, 'w')
      for (let left = bavail * bsize - leaveMib * MIB; left > 0; left -= MIB) {
        writeSync(file, Buffer.alloc(Math.min(left, MIB)))
      }
      closeSync(file)
    },
    empty: () => rmSync(ballast),
    // Processes that still work in it are ended by the tests that started them.
    unmount: () => void spawnSync('umount', ['--lazy', folder]),
  }
}

const mount = (folder: string, mib: number) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', folder], { encoding: 'utf8' })
