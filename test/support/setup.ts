import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { killLeft, outputsOfRunning, searchLogs } from './server.ts'

/**
 * The part of each server's output that the report of a failed test shows: the machine may be gone before anybody reads
 * the whole.
 */
const SHOWN_CHARACTERS = 4_000
/** A folder of each user's own: another cannot write into it. */
const LOGS = join(tmpdir(), `fieldline-test-logs-${process.getuid?.() ?? 'own'}`)
let written = 0

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return
  mkdirSync(LOGS, { recursive: true })
  task.meta.serverLogs = outputsOfRunning().map(({ stdout, stderr }) => {
    const path = join(LOGS, `${process.pid}-${++written}.log`)
    writeFileSync(path, stdout + stderr)
    console.error(`a server wrote (all of it is in ${path}):\n${stderr.slice(-SHOWN_CHARACTERS)}`)
    return path
  })
})

let usedBefore = 0
beforeAll(() => {
  usedBefore = processorSeconds()
})
// biome-ignore lint/correctness/noEmptyPattern: vitest gives the suite as the second argument alone
afterAll(({}, { file }) => {
  killLeft()
  const { servers, findings } = searchLogs()
  file.meta.logSearch = { servers, findings }
  file.meta.processorSeconds = processorSeconds() - usedBefore
})

/**
 * Seconds of processor time of this worker and, where Linux counts them, of the processes that it started and that have
 * ended.
 */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + endedChildrenSeconds()
}

function endedChildrenSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticksPerSecond = 100
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
  } catch {
    return 0
  }
}
