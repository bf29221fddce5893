import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { BaseSequencer, createVitest, parseCLI } from 'vitest/node'
import { keysOfLongFiles, readPassed, writePassed } from './support/unchanged.mjs'

/** Files between two of integrity, where the times of the last run are not known. */
const OTHERS_BETWEEN = 3

/**
 * Files whose server or database is PostgreSQL where that is. Embedded databases cost more: with every service refused 50
 * of 250 files took 550 s of processor.
 */
const ON_POSTGRES =
  /\b(use(Organization|Server|ServerProcess|MeasuredServer|Exports|MovingFleet)|startLastingServer|usualKind)\(/
/** The reason why there is no PostgreSQL, and the files that are left out for it. */
const without = { reason: '', files: [] }

/**
 * Without the times of an earlier run the largest files come first. Those of integrity are small, take minutes, and wait much of
 * that: among others, and not at the end, where one of two minutes ran alone beside an idle processor.
 */
class Order extends BaseSequencer {
  async sort(files) {
    const largestFirst = withoutPostgres(
      await super.sort(files),
      this.ctx.getRootProject().getProvidedContext(),
    )
    const waiting = largestFirst.filter(({ moduleId }) => moduleId.includes('/test/integrity/'))
    const working = largestFirst.filter(file => !waiting.includes(file))
    const sorted = []
    while (sorted.length < largestFirst.length)
      sorted.push(...waiting.splice(0, 1), ...working.splice(0, OTHERS_BETWEEN))
    return sorted
  }
}

function withoutPostgres(files, { postgres }) {
  if (!mayLeaveOut || !postgres?.reason) return files
  const isLeftOut = ({ moduleId }) => ON_POSTGRES.test(readFileSync(moduleId, 'utf8'))
  without.reason = postgres.reason
  without.files = files.filter(isLeftOut).map(pathOf)
  return files.filter(file => !isLeftOut(file))
}

/**
 * `npm test`: every test once. A test that fails fails the run; with REQUIRE_SERVICES=1 one that is skipped does too.
 * Arguments are those of `vitest run`: a part of a file's path, `-t` a test's name, `--changed` the files that import what
 * changed since the last commit; and `--all`. Without it a whole run on one's own machine leaves out the long files whose
 * product has not changed since they passed, and those that need PostgreSQL where there is none, and names them.
 */
const began = performance.now()
const words = process.argv.slice(2)
const { filter, options } = parseCLI(['vitest', 'run', ...words.filter(word => word !== '--all')])
const isWhole = !options.testNamePattern
const isEverything = isWhole && filter.length === 0 && !options.changed

const root = process.cwd()
const cache = process.env.FIELDLINE_CACHE || join(homedir(), '.cache', 'fieldline')
const keys = keysOfLongFiles(root)
const passed = readPassed(cache)
const mayLeaveOut =
  isEverything && !words.includes('--all') && !process.env.CI && process.env.REQUIRE_SERVICES !== '1'
const unchanged = [...keys]
  .filter(([path, key]) => mayLeaveOut && passed.get(path) === key)
  .map(([path]) => path)

const vitest = await createVitest('test', {
  ...options,
  watch: false,
  sequence: { ...options.sequence, sequencer: Order },
})
for (const { config } of vitest.projects) config.exclude.push(...unchanged)
const { testModules } = await vitest.start(filter)
const states = testModules.flatMap(module => [...module.children.allTests()].map(test => test.result().state))
const count = state => states.filter(each => each === state).length
await vitest.close()

for (const module of isWhole ? testModules : []) {
  const path = pathOf(module)
  const tests = [...module.children.allTests()]
  if (keys.has(path) && module.ok() && tests.every(test => test.result().state === 'passed'))
    passed.set(path, keys.get(path))
}
writePassed(cache, passed)

printNotRun('nothing that they depend on has changed since they passed', unchanged)
printNotRun(`there is no PostgreSQL: ${without.reason}`, without.files.sort())
const minutes = ((performance.now() - began) / 60_000).toFixed(1)
const processor = processorSeconds()
console.log(
  `\n${minutes} minutes${processor === null ? '' : `, ${processor} s of processor, with the services that this run started`}`,
)
console.log(`Tests: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
if (process.env.REQUIRE_SERVICES === '1' && isWhole && count('skipped') > 0) {
  console.log('REQUIRE_SERVICES=1 lets no test be skipped.')
  process.exitCode = 1
}
process.exit()

function printNotRun(reason, paths) {
  if (paths.length === 0) return
  console.log(`\nNot run, because ${reason} (npm test -- --all runs them)`)
  for (const path of paths) console.log(`  ${path}`)
}

function pathOf({ moduleId }) {
  return relative(root, moduleId)
}

/** Seconds of processor of this process and of all that it started and saw end, as Linux counts them; null elsewhere. */
function processorSeconds() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const [user, system, childrenUser, childrenSystem] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number)
    const ticksPerSecond = 100
    return Math.round((user + system + childrenUser + childrenSystem) / ticksPerSecond)
  } catch {
    return null
  }
}
