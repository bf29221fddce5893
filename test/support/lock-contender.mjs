import { join } from 'node:path'
import { lockDirectory } from '../../dist/db/drivers/directory-lock.js'

/** Tries to lock each of the directories at its own moment, the same in every process, and tells which it holds. */
const [folder, count, beginsAt] = process.argv.slice(2)
const STEP_MS = 8

const tries = Array.from({ length: Number(count) }, async (_, index) => {
  await new Promise(resolve => setTimeout(resolve, Number(beginsAt) + index * STEP_MS - Date.now()))
  return lockDirectory(join(folder, `${index}`)).then(
    () => [index],
    () => [],
  )
})
process.send((await Promise.all(tries)).flat())
setInterval(() => {}, 1_000)
