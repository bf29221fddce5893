import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Prints how long each suite took, so that the whole run stays within its time. */
export default class MinutesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const seconds = new Map<string, number>()
    for (const module of modules) {
      const suite = relative(process.cwd(), module.moduleId).split('/').slice(0, 2).join('/')
      const { duration, setupDuration, collectDuration } = module.diagnostic()
      seconds.set(suite, (seconds.get(suite) ?? 0) + (duration + setupDuration + collectDuration) / 1000)
    }
    const rows = [...seconds].sort(([, a], [, b]) => b - a)
    console.log('\nMinutes of each suite')
    for (const [suite, time] of rows) console.log(`  ${(time / 60).toFixed(2)}  ${suite}`)
  }
}
