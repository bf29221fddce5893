import { BaseSequencer, createVitest, parseCLI } from 'vitest/node'

/** More than these are no noise of a machine, and would take as long again. */
const MAX_FILES_AGAIN = 8
/** Files between two of integrity. */
const OTHERS_BETWEEN = 3

/**
 * Without the times of an earlier run the largest files come first. Those of integrity are small, take minutes, and wait much of
 * that: among others, and not at the end, where one of two minutes ran alone beside an idle processor.
 */
class Order extends BaseSequencer {
  async sort(files) {
    const largestFirst = await super.sort(files)
    const waiting = largestFirst.filter(({ moduleId }) => moduleId.includes('/test/integrity/'))
    const working = largestFirst.filter(file => !waiting.includes(file))
    const sorted = []
    while (sorted.length < files.length)
      sorted.push(...waiting.splice(0, 1), ...working.splice(0, OTHERS_BETWEEN))
    return sorted
  }
}

/**
 * `npm test`. In CI, where the machine is shared and noisy, a file in which a test failed twice runs once more after all
 * others, from its server and database on: what a first try left behind dooms the second, and a hook has no second try.
 */
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const vitest = await createVitest('test', {
  ...options,
  watch: false,
  sequence: { ...options.sequence, sequencer: Order },
})
const { testModules, unhandledErrors } = await vitest.start(filter)
const failed = testModules.filter(module => !module.ok())
if (process.env.CI && unhandledErrors.length === 0 && failed.length > 0 && failed.length <= MAX_FILES_AGAIN) {
  console.log(`\nOnce more, from the start: ${failed.map(module => module.relativeModuleId).join(', ')}`)
  process.exitCode = 0
  await vitest.runTestSpecifications(failed.map(module => module.toTestSpecification()))
}
await vitest.exit()
