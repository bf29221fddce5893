import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll } from 'vitest'
import { useServerProcess } from './own-server.ts'
import { leastUsualMs } from './processor-time.ts'
import { until } from './wait.ts'

const PROBE = resolve(import.meta.dirname, 'held-loop.mjs')

const TRIES = 3

/** A server in a separate process that measures how long its event loop was blocked. */
export function useMeasuredServer(env: Record<string, string> = {}) {
  const file = join(tmpdir(), `held-loop-${process.pid}-${Date.now()}`)
  writeFileSync(file, '')
  const { server, database } = useServerProcess({
    NODE_OPTIONS: `--import ${PROBE}`,
    HELD_LOOP_FILE: file,
    ...env,
  })
  afterAll(() => rmSync(file))
  const signalled = async (expected: RegExp) => {
    process.kill(server.pid, 'SIGWINCH')
    await until('the probe of the event loop answers', () => expected.test(readFileSync(file, 'utf8')))
    return readFileSync(file, 'utf8')
  }
  async function measure(work: () => Promise<unknown>): Promise<number> {
    await signalled(/^measuring/)
    let longest: string | undefined
    try {
      await work()
    } finally {
      longest = await signalled(/^[\d.]+\n/)
    }
    return Number(longest)
  }

  return {
    server,
    database,
    /**
     * The maximum processor time between two turns of its event loop during the work, in milliseconds of the usual
     * machine. Work that exceeds the bound is done again, and the least counts.
     */
    heldMs: (boundMs: number, work: () => Promise<unknown>) =>
      leastUsualMs(boundMs, () => measure(work), TRIES),
  }
}
