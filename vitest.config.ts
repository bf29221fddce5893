import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Two cores, and every file starts servers of its own.
    maxWorkers: 2,
    // The machine is shared and noisy there: what fails is run once more, and the report says so.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    reporters: ['default', './test/support/minutes-reporter.ts'],
  },
})
