import { createVitest, parseCLI } from 'vitest/node'

/** More than these are no noise of a machine, and would take as long again. */
const MAX_FILES_AGAIN = 8

/**
 * `npm test`. In CI, where the machine is shared and noisy, a file in which a test failed twice runs once more after all
 * others, from its server and database on: what a first try left behind dooms the second, and a hook has no second try.
 */
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const vitest = await createVitest('test', { ...options, watch: false })
const { testModules, unhandledErrors } = await vitest.start(filter)
const failed = testModules.filter(module => !module.ok())
if (process.env.CI && unhandledErrors.length === 0 && failed.length > 0 && failed.length <= MAX_FILES_AGAIN) {
  console.log(`\nOnce more, from the start: ${failed.map(module => module.relativeModuleId).join(', ')}`)
  process.exitCode = 0
  await vitest.runTestSpecifications(failed.map(module => module.toTestSpecification()))
}
await vitest.exit()
