import type { Batch } from './batches.ts'
import type { LimitOrder, LimitResult } from './statements.ts'

/** A batch as the text of the `json` form. */
export function toJsonRows(batch: Batch): string {
  const rows: string[] = []
  for (let index = 0; index < batch.subject.length; index++) {
    rows.push(
      `{"s":${batch.subject[index]},"t":${batch.recordedAt[index]},"r":${batch.receivedAt[index]},` +
        `"y":${batch.lat[index]},"x":${batch.lng[index]},"v":${batch.speed[index]},"h":${batch.heading[index]},` +
        `"a":${batch.accuracy[index]},"b":${batch.battery[index]}}`,
    )
  }
  return `[${rows.join(',')}]`
}

/**
 * Runs every inserter repeatedly, during a warm-up and a window. An inserter inserts one batch and resolves to the
 * number of its rows.
 */
export async function measureInserts(
  order: LimitOrder,
  inserters: (() => Promise<number>)[],
): Promise<LimitResult> {
  let total = 0
  const cpuBefore = process.cpuUsage()
  const begin = performance.now() + order.warmUpSeconds * 1000
  const end = begin + order.seconds * 1000
  let rows = 0
  let first = Number.POSITIVE_INFINITY
  let last = begin
  await Promise.all(
    inserters.map(async insert => {
      while (performance.now() < end) {
        const begun = performance.now()
        const inserted = await insert()
        total += inserted
        // Only whole statements count: the window is from the first that began in it to the end of the last one.
        if (begun < begin) continue
        rows += inserted
        first = Math.min(first, begun)
        last = Math.max(last, performance.now())
      }
    }),
  )
  const cpu = process.cpuUsage(cpuBefore)
  return { rows, seconds: (last - first) / 1000, total, cpuSeconds: (cpu.user + cpu.system) / 1e6 }
}
