import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/setup.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // To begin each file in a process of its own took 0.2 s of processor. So what a file changes, such as timers, it puts back.
    isolate: false,
    // Two more than there are cores: many wait for a time-out, a lease, or a broker to come back. With one more, two cores were
    // idle for more than a quarter of the time in the tests of ingest, live, jobs, stream and db.
    maxWorkers: 4,
    // A test that fails now and then has a fault, or shows one of the product: no second try hides it.
    retry: 0,
    // A test that hangs ends; a slow one does not, on a machine that is three times slower and busy with other work.
    testTimeout: 480_000,
    hookTimeout: 480_000,
    teardownTimeout: 30_000,
    reporters: ['./test/support/run-reporter.ts'],
  },
})
