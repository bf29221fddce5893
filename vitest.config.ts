import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map(path => join('test', path))
  .filter(path => path.endsWith('.test.ts'))
/**
 * A clock that a test turns is the clock of the whole process. Among the servers that other files keep open there, their timers were
 * counted with the test's, and they took the turned clock for the time.
 */
const turningTheClock = files.filter(path => readFileSync(path, 'utf8').includes('useFakeTimers('))

const every = {
  setupFiles: ['test/support/setup.ts'],
  pool: 'forks' as const,
  // A test that fails now and then has a fault, or shows one of the product: no second try hides it.
  retry: 0,
  // A test that hangs ends; a slow one does not, on a machine that is three times slower and busy with other work.
  testTimeout: 480_000,
  hookTimeout: 480_000,
  teardownTimeout: 30_000,
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Two more than there are cores: many wait for a time-out, a lease, or a broker to come back. With one more, two cores were
    // idle for more than a quarter of the time in the tests of ingest, live, jobs, stream and db.
    maxWorkers: 4,
    reporters: ['./test/support/run-reporter.ts'],
    projects: [
      // To begin each file in a process of its own took 0.2 s of processor. So what a file changes, it puts back.
      {
        test: {
          ...every,
          name: 'shared process',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...turningTheClock],
          isolate: false,
        },
      },
      { test: { ...every, name: 'own process', include: turningTheClock, isolate: true } },
    ],
  },
})
