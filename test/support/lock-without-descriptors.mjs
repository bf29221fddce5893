import { closeSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { lockDirectory } from '../../dist/db/drivers/directory-lock.js'

/**
 * Checks a lock while no descriptor is free, and after its folder is gone. Each check comes late enough to read the
 * files.
 */
const LATER_MS = 60_000
const [directory] = process.argv.slice(2)
const now = Date.now
let later = 0
Date.now = () => now() + later

const lock = await lockDirectory(directory)
const look = () => {
  later += LATER_MS
  return lock.look()
}
const before = look()
const taken = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch (error) {
  if (error.code !== 'EMFILE') throw error
}
const without = look()
for (const descriptor of taken) closeSync(descriptor)
const again = look()
rmSync(dirname(directory), { recursive: true })
process.send({ before, without, again, gone: look() })
process.disconnect()
