import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { run } from './commands.ts'

/** The folder of installed servers, outside the repository, so that a fresh clone does not install them again. */
export function cacheFolder(): string {
  const folder = process.env.FIELDLINE_CACHE || join(homedir(), '.cache', 'fieldline')
  mkdirSync(folder, { recursive: true })
  return realpathSync(folder)
}

/**
 * Takes an exclusive lock and returns its file descriptor. The kernel ties the lock to the open file, not to flock(1),
 * which only asks for it: it lasts until the descriptor is closed here and in every command that inherited it, and a
 * killed process cannot leave it behind.
 */
export async function lock(file: string): Promise<number> {
  const inherit = openSync(file, 'w')
  await run('flock', ['3'], { inherit })
  return inherit
}

/** The same, or null at once if somebody holds the lock. */
export async function tryLock(file: string): Promise<number | null> {
  const inherit = openSync(file, 'w')
  const code = await run('flock', ['--nonblock', '3'], { inherit, codes: [0, 1] })
  if (code === 0) return inherit
  closeSync(inherit)
  return null
}

export const unlock = closeSync

/**
 * The parts of an installation: the folder to fill, a log to write to, and the lock that its commands should inherit.
 */
export interface Installation {
  folder: string
  log: string
  inherit: number
}

/**
 * The folder `name` of the cache, filled by `install` if it does not exist. Two simultaneous runs install it once. It
 * gets its name only when it is complete; the next run deletes the remains of an interrupted one.
 */
export async function installed(name: string, install: (to: Installation) => Promise<void>): Promise<string> {
  const whole = join(cacheFolder(), name)
  if (existsSync(whole)) return whole
  const held = await lock(`${whole}.lock`)
  try {
    if (existsSync(whole)) return whole
    const partial = `${whole}.partial`
    await removeTree(partial)
    mkdirSync(partial)
    const startedAt = performance.now()
    process.stderr.write(`installing ${name} into ${cacheFolder()}\n`)
    const log = `${whole}.log`
    writeFileSync(log, '')
    await install({ folder: partial, log, inherit: held })
    renameSync(partial, whole)
    process.stderr.write(`installed ${name} in ${Math.round((performance.now() - startedAt) / 1000)} s\n`)
    return whole
  } finally {
    unlock(held)
  }
}

/** Removes a folder but nothing that is mounted below it: an interrupted debootstrap leaves /proc and /sys mounted. */
export async function removeTree(folder: string): Promise<void> {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const below = mounts.map(line => line.split(' ')[1] ?? '').filter(path => path.startsWith(`${folder}/`))
  for (const path of below.reverse()) await run('umount', ['--lazy', path])
  await run('rm', ['-rf', '--one-file-system', folder])
}
