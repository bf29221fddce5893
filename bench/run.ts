/**
 * `npm run bench`: Fieldline's benchmarks, printed as a Markdown table. Everything is real and on this machine,
 * including load generators; speeds are ratios between two things that are measured in one run, in turn.
 */
import { availableParallelism, cpus, loadavg } from 'node:os'
import { benchBroker } from './broker.ts'
import { benchConnections } from './connections.ts'
import { benchConsole } from './console.ts'
import { benchDisk } from './disk.ts'
import { benchBesideExport, benchExport } from './export.ts'
import { benchFences } from './fences.ts'
import { benchFirstMinute } from './first-minute.ts'
import { benchHistory } from './history.ts'
import { benchBesideImport, benchImport } from './import.ts'
import { benchIngest } from './ingest.ts'
import { benchLive } from './live.ts'
import { readOptions } from './options.ts'
import { type Row, toMarkdown } from './report.ts'
import { benchSafety } from './safety.ts'
import { benchTasks } from './tasks.ts'
import { openTier } from './tiers.ts'

const options = readOptions(process.argv.slice(2))
// An interrupted run ends its processes, which listen to 'exit'.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

const rows: Row[] = []
const loadBefore = loadavg()[0] as number
for (const name of options.tiers) {
  if (options.figures.includes('safety')) rows.push(...(await benchSafety(name, options)))
  if (options.figures.every(figure => figure === 'safety')) continue
  const tier = await openTier(name, options)
  try {
    if (options.figures.includes('ingest'))
      rows.push(...(await (options.fences > 0 ? benchFences : benchIngest)(tier, options)))
    // Reading is the same in the cluster tier.
    if (options.figures.includes('history') && name !== 'cluster')
      rows.push(...(await benchHistory(tier, options)))
    if (options.figures.includes('disk') && name === 'one-machine') rows.push(...(await benchDisk(tier)))
    if (options.figures.includes('tasks') && name === 'one-machine') rows.push(...(await benchTasks(tier)))
    if (options.figures.includes('import') && name === 'one-machine')
      rows.push(...(await benchImport(tier, options)))
    if (options.figures.includes('export') && name === 'one-machine')
      rows.push(...(await benchExport(tier, options)))
    if (options.figures.includes('beside') && name === 'one-machine')
      rows.push(await benchBesideImport(tier, options), await benchBesideExport(tier, options))
    if (options.figures.includes('console') && name === 'embedded')
      rows.push(...(await benchConsole(tier, options)))
    if (options.figures.includes('first-minute') && name === 'embedded')
      rows.push(...(await benchFirstMinute(options)))
    if (options.figures.includes('broker') && name === 'one-machine')
      rows.push(...(await benchBroker(tier, options)))
    if (options.figures.includes('live')) rows.push(...(await benchLive(tier, options)))
    if (options.figures.includes('connections')) rows.push(...(await benchConnections(tier, options)))
  } finally {
    await tier.close()
  }
}
process.stdout.write(`${toMarkdown(rows)}

${availableParallelism()} cores (${cpus()[0]?.model}), Node ${process.version}, ${options.rounds} rounds of \
${options.seconds} s in turn, medians. Load average before: ${loadBefore.toFixed(2)}.
`)
