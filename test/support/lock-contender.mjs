import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Tries to lock each of the directories at its own moment, the same in every process, and reports those that it holds,
 * with the lock in the given module: today's, or that of an old release.
 */
const [module, folder, count, beginsAt] = process.argv.slice(2)
const STEP_MS = 8
/**
 * A process that replaces the file of a dead holder learns with its next renewal if an old release took it at the same
 * moment.
 */
const RENEWED_AFTER_MS = 2_500

const { lockDirectory } = await import(module)
const locks = await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    await sleep(Number(beginsAt) + index * STEP_MS - Date.now())
    return lockDirectory(join(folder, `${index}`)).catch(() => null)
  }),
)
await sleep(RENEWED_AFTER_MS)
// The first lock cannot tell whether it is held.
const isHeld = lock => lock !== null && (lock.look?.() ?? 'held') === 'held' && (lock.isHeld?.() ?? true)
process.send(locks.flatMap((lock, index) => (isHeld(lock) ? [index] : [])))
setInterval(() => {}, 1_000)
