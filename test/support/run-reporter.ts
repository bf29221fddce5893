import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { SerializedError } from 'vitest'
import {
  DefaultReporter,
  type TestCase,
  type TestModule,
  type TestRunEndReason,
  type TestSpecification,
} from 'vitest/node'
import { cacheFolder } from '../services/cache.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** The files with the output of the servers of a failed test. */
    serverLogs?: string[]
    /**
     * Seconds of processor time of a file: its worker's, and those of the processes that it started and that have
     * ended.
     */
    processorSeconds?: number
    /** The number of servers whose logs were searched for what no log may hold, and what was found. */
    logSearch?: { servers: number; findings: string[] }
  }
}

const EXPENSIVE_FILES = 10
const SHOWN_NAMES = 5
/** Characters of an error's message. */
const ERROR_SHOWN = 2_000
const TICK_MS = 1_000

interface Cost {
  /** The worker's time. */
  seconds: number
  /** Processor time: the worker's, and that of the processes that it started and that have ended. */
  processorSeconds: number
}

/** The cost of each file in its last run, by its path from the project's root. */
function readLastCosts(): Record<string, Cost> {
  try {
    return JSON.parse(readFileSync(costsFile(), 'utf8'))
  } catch {
    return {}
  }
}

const costsFile = () => join(cacheFolder(), 'test-costs.json')

/**
 * Reports the progress of the run: on a terminal one line with the finished files, the failed ones, and the minutes
 * left according to the last run; elsewhere a line per file. At its end it prints the minutes of each suite, the most
 * expensive files, what the logs of servers hold that no log may hold, which fails the run, the skipped tests with their
 * reasons, and for each failure the command that runs it alone.
 */
export default class RunReporter extends DefaultReporter {
  #lastCosts: Record<string, Cost> = {}
  #waiting = new Map<string, number>()
  #done = 0
  #failed = 0
  #ticking: NodeJS.Timeout | undefined
  #workers = 1

  constructor() {
    super({ summary: false })
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications)
    this.#lastCosts = readLastCosts()
    this.#done = 0
    this.#failed = 0
    this.#workers = this.ctx.config.maxWorkers
    const known = Object.values(this.#lastCosts)
      .map(({ seconds }) => seconds)
      .sort((a, b) => a - b)
    const usual = known[Math.floor(known.length / 2)] ?? 0
    const paths = specifications.map(({ moduleId }) => relative(this.ctx.config.root, moduleId))
    this.#waiting = new Map(paths.map(path => [path, this.#lastCosts[path]?.seconds ?? usual]))
    if (!this.isTTY) return
    this.#ticking = setInterval(() => this.#draw(), TICK_MS)
    this.#draw()
  }

  override onTestModuleEnd(module: TestModule): void {
    this.#waiting.delete(module.relativeModuleId)
    this.#done += 1
    if (!module.ok()) this.#failed += 1
    super.onTestModuleEnd(module)
    this.#printErrors(module)
    this.#draw()
  }

  /** The end of the run shows them whole, which may be an hour later. */
  #printErrors(module: TestModule): void {
    const tests = [...module.children.allTests('failed')]
    for (const one of [module, ...module.children.allSuites(), ...tests]) {
      const errors = one.type === 'test' ? (one.result().errors ?? []) : one.errors()
      for (const { message, cause, stacks = [] } of errors) {
        const [at] = stacks
        const place = at ? ` (${relative(this.ctx.config.root, at.file)}:${at.line})` : ''
        const reason = cause ? `: ${cause.message}` : ''
        const name = 'fullName' in one ? one.fullName : module.relativeModuleId
        this.log(`       ${name}: ${message.slice(0, ERROR_SHOWN)}${reason}${place}`)
      }
    }
  }

  /** On a terminal the one line suffices for a file that passed. */
  protected override printTestModule(module: TestModule): void {
    if (!this.isTTY || !module.ok()) super.printTestModule(module)
  }

  override log(...messages: unknown[]): void {
    this.#clear()
    super.log(...messages)
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    clearInterval(this.#ticking)
    this.#clear()
    super.onTestRunEnd(modules, errors, reason)
    this.#keepCosts(modules)
    this.#printMinutes(modules)
    this.#printLogSearch(modules)
    const tests = modules.flatMap(module => [...module.children.allTests()])
    this.#printSkipped(tests.filter(test => test.result().state === 'skipped'))
    this.#printFailed(modules, tests)
  }

  #draw(): void {
    if (!this.isTTY) return
    const seconds = [...this.#waiting.values()].reduce((sum, time) => sum + time, 0) / this.#workers
    const left = seconds > 0 ? `, about ${Math.ceil(seconds / 60)} min left` : ''
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : ''
    this.ctx.logger.outputStream.write(
      `\r\x1b[K${this.#done} of ${this.#done + this.#waiting.size} files${failed}${left}`,
    )
  }

  #clear(): void {
    if (this.isTTY) this.ctx.logger.outputStream.write('\r\x1b[K')
  }

  #keepCosts(modules: readonly TestModule[]): void {
    const costs = Object.fromEntries(
      modules.map(module => [
        module.relativeModuleId,
        { seconds: secondsOf(module), processorSeconds: module.meta().processorSeconds ?? 0 },
      ]),
    )
    writeFileSync(costsFile(), JSON.stringify({ ...this.#lastCosts, ...costs }, null, 1))
  }

  #printMinutes(modules: readonly TestModule[]): void {
    const suites = new Map<string, { wall: number; processor: number }>()
    for (const module of modules) {
      const name = module.relativeModuleId.split('/').slice(0, 2).join('/')
      const suite = suites.get(name) ?? { wall: 0, processor: 0 }
      suites.set(name, suite)
      suite.wall += secondsOf(module)
      suite.processor += module.meta().processorSeconds ?? 0
    }
    this.log('\nMinutes of each suite (of a worker, and of the processor without services and browsers)')
    for (const [name, { wall, processor }] of [...suites].sort(([, a], [, b]) => b.wall - a.wall))
      this.log(`  ${minutes(wall)}  ${minutes(processor)}  ${name}`)
    const expensive = modules
      .map(module => ({ path: module.relativeModuleId, seconds: module.meta().processorSeconds ?? 0 }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, EXPENSIVE_FILES)
    this.log(`\nThe files that took most of the processor, in seconds (all of them: ${costsFile()})`)
    for (const { path, seconds } of expensive) this.log(`  ${seconds.toFixed(1).padStart(5)}  ${path}`)
  }

  #printLogSearch(modules: readonly TestModule[]): void {
    const searches = modules.map(module => ({
      path: module.relativeModuleId,
      ...(module.meta().logSearch ?? { servers: 0, findings: [] }),
    }))
    const servers = searches.reduce((sum, search) => sum + search.servers, 0)
    const found = searches.flatMap(({ path, findings }) => findings.map(finding => `  ${path}: ${finding}`))
    this.log(
      `\nThe logs of ${servers} servers were searched for tokens, keys, passwords, positions and values of records: ${found.length || 'none'}`,
    )
    for (const line of found) this.log(line)
    if (found.length > 0) process.exitCode = 1
  }

  #printSkipped(skipped: TestCase[]): void {
    const byReason = groupBy(skipped, reasonOf)
    for (const [reason, tests] of byReason) {
      this.log(`\nSkipped, ${tests.length}: ${reason}`)
      const byFile = groupBy(tests, test => test.module.relativeModuleId)
      for (const [path, ofFile] of byFile) {
        const names = ofFile.slice(0, SHOWN_NAMES).map(test => test.name)
        const more = ofFile.length > SHOWN_NAMES ? `, and ${ofFile.length - SHOWN_NAMES} more` : ''
        this.log(`  ${path}: ${names.join('; ')}${more}`)
      }
    }
  }

  #printFailed(modules: readonly TestModule[], tests: TestCase[]): void {
    const failed = tests.filter(test => test.result().state === 'failed')
    const failedFiles = modules.filter(module => !module.ok() && !failed.some(test => test.module === module))
    if (failed.length + failedFiles.length > 0) this.log('\nTo run a failed test alone')
    for (const test of failed) {
      this.log(
        `  npm test -- ${test.module.relativeModuleId} -t ${quote(test.fullName.replaceAll(' > ', ' '))}`,
      )
      for (const path of test.meta().serverLogs ?? []) this.log(`    its server wrote: ${path}`)
    }
    for (const module of failedFiles) this.log(`  npm test -- ${module.relativeModuleId}`)
  }
}

/** The reason why a test was skipped: its own, or how it was left out. */
function reasonOf(test: TestCase): string {
  const result = test.result()
  return (result.state === 'skipped' && result.note) || 'left out by the command line or the file'
}

function secondsOf(module: TestModule): number {
  const { duration, setupDuration, collectDuration } = module.diagnostic()
  return (duration + setupDuration + collectDuration) / 1000
}

const minutes = (seconds: number) => (seconds / 60).toFixed(2).padStart(6)

/** A regular expression that matches only the name, as one word of a shell. */
const quote = (name: string) => `'${name.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll("'", `'\\''`)}'`

function groupBy<Item>(items: Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}
