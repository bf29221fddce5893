import { chmodSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { lock, removeTree, tryLock, unlock } from './cache.ts'
import { killAll } from './processes.ts'

/** The data of one server: a folder that belongs to this run until `release`, or until this process ends in any way. */
export interface Claim {
  folder: string
  release(): Promise<void>
}

/**
 * Creates a folder in `parent`, which other runs share. Also removes folders whose owner has ended without releasing
 * them, with the processes that still work in them.
 */
export async function claimFolder(parent: string, name: string): Promise<Claim> {
  mkdirSync(parent, { recursive: true })
  // Held while a new folder has no lock of its own yet, so that it does not count as abandoned.
  const held = await lock(join(parent, '.lock'))
  try {
    for (const entry of readdirSync(parent, { withFileTypes: true })) {
      if (entry.isDirectory()) await removeIfAbandoned(join(parent, entry.name))
    }
    const folder = mkdtempSync(join(parent, `${name}-`))
    // A server may run as another user.
    chmodSync(folder, 0o755)
    const mine = await lock(join(folder, '.lock'))
    const release = async () => {
      // Otherwise another run, which looks for abandoned folders, would put its lock into the folder that is being
      // removed.
      const held = await lock(join(parent, '.lock'))
      try {
        await removeTree(folder)
        unlock(mine)
      } finally {
        unlock(held)
      }
    }
    return { folder, release }
  } finally {
    unlock(held)
  }
}

async function removeIfAbandoned(folder: string): Promise<void> {
  const owner = await tryLock(join(folder, '.lock'))
  if (owner === null) return
  await killAll(folder)
  await removeTree(folder)
  unlock(owner)
}
