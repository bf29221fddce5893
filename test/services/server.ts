import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lastLines, PATH } from './commands.ts'
import type { Claim } from './folders.ts'
import { freeze, killAll, processesIn, thaw } from './processes.ts'
import type { Control } from './services.ts'

const supervisor = fileURLToPath(new URL('supervise.sh', import.meta.url))
const startTimeoutMs = 180_000

/** How to run one server. Its processes must work in the claimed folder, by which they are found again. */
export interface Plan {
  claim: Claim
  command: string[]
  env?: Record<string, string>
  /** The signal of an orderly end. */
  stopSignal: 'INT' | 'TERM'
  /** Whether the server answers, judging by its output since this start. */
  isReady(log: string): boolean
}

/** Starts a server under `supervise.sh`. `stop` ends it and removes its folder. */
export async function startServer(plan: Plan): Promise<Control & { stop(): Promise<void> }> {
  const { claim } = plan
  let running: { child: ChildProcess; exited: Promise<unknown> } | null = null
  let starts = 0

  async function start(): Promise<void> {
    if (running) throw new Error(`${plan.command[0]} is running`)
    starts += 1
    const log = join(claim.folder, `server-${starts}.log`)
    const output = openSync(log, 'w')
    const child = spawn('/bin/sh', [supervisor, claim.folder, plan.stopSignal, ...plan.command], {
      stdio: ['pipe', output, output],
      // A session of its own: Ctrl-C in the terminal ends the test run, which then ends its servers in order.
      detached: true,
      // No variable of this process leaks in: PGHOST or KAFKA_OPTS would change the measurements.
      env: { PATH, LANG: 'C.UTF-8', ...plan.env },
    })
    closeSync(output)
    const ended = { child, exited: once(child, 'exit') }
    running = ended
    child.once('exit', () => {
      if (running === ended) running = null
    })
    // A test run that forgets its servers still ends, and the servers end with it.
    child.unref()
    ;(child.stdin as Socket).unref()
    const deadline = Date.now() + startTimeoutMs
    while (!plan.isReady(readFileSync(log, 'utf8'))) {
      if (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
        await sleep(20)
        continue
      }
      const problem = `${plan.command[0]} did not start: ${lastLines(log, 8)}`
      await halt()
      throw new Error(problem)
    }
  }

  async function halt(): Promise<void> {
    if (!running) return
    const { child, exited } = running
    child.ref()
    child.stdin?.end()
    await exited
  }

  async function kill9(): Promise<void> {
    const exited = running?.exited
    running?.child.ref()
    await killAll(claim.folder)
    await exited
  }

  try {
    await start()
  } catch (error) {
    await claim.release()
    throw error
  }
  return {
    start,
    halt,
    kill9,
    restart: async () => {
      await halt()
      await start()
    },
    processes: () => processesIn(claim.folder),
    freeze: () => freeze(claim.folder),
    thaw: () => thaw(claim.folder),
    stop: async () => {
      await halt()
      await claim.release()
    },
  }
}
