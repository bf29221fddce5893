import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll } from 'vitest'
import { useServerProcess } from './own-server.ts'
import { until } from './wait.ts'

const PROBE = resolve(import.meta.dirname, 'held-loop.mjs')

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

  return {
    server,
    database,
    /** The maximum processor time between two turns of its event loop during the work, in milliseconds. */
    async heldMs(work: () => Promise<unknown>): Promise<number> {
      await signalled(/^measuring/)
      let longest: string | undefined
      try {
        await work()
      } finally {
        longest = await signalled(/^[\d.]+\n/)
      }
      return Number(longest)
    },
  }
}
