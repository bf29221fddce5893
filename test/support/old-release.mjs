import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { lockDirectory } from '../data/locks/first.mjs'

/**
 * Does the same with its directory as one of the first releases: locks it, opens it, and writes until it is stopped.
 * Reports that it runs, or why it does not, and at the end how many rows it has written.
 */
const [directory] = process.argv.slice(2)
try {
  const lock = await lockDirectory(directory)
  const db = await PGlite.create({ dataDir: directory })
  await db.exec('CREATE TABLE IF NOT EXISTS old_release (n int PRIMARY KEY, filling text)')
  let stopped = false
  process.on('message', () => {
    stopped = true
  })
  process.send({ running: true })
  let rows = 0
  while (!stopped) {
    await db.query(`INSERT INTO old_release VALUES ($1, repeat('x', 200))`, [rows++])
    await sleep(10)
  }
  await db.close()
  lock.release()
  process.send({ rows })
} catch (error) {
  process.send({ refused: error.message })
}
process.disconnect()
