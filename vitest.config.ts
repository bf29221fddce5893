import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/setup.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // One more than there are cores: of seven of the longest files two took 1.2 cores, since they wait for a time-out, a
    // lease, or a broker to come back.
    maxWorkers: 3,
    // The machine is shared and noisy there: what fails is run once more, and the report says so.
    retry: process.env.CI ? 1 : 0,
    // What hangs ends; what is slow, on a machine that is three times slower, does not.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    teardownTimeout: 30_000,
    reporters: ['default', './test/support/minutes-reporter.ts'],
  },
})
