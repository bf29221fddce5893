/**
 * Milliseconds of processor time of this process for the work, in all of its threads. Unlike elapsed time, it excludes
 * the other work of a busy machine; a processor that is slower takes more of it, see `slowness()`.
 */
export async function processorMs(work: () => unknown): Promise<number> {
  const begun = process.cpuUsage()
  await work()
  return processorMsSince(begun)
}

export function processorMsSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1000
}

const YARDSTICK = JSON.stringify(
  Array.from({ length: 4_000 }, (_, n) => ({ name: `Number ${n}`, place: [n / 7, n / 13], is: n % 2 === 0 })),
)
/** What the yardstick takes on the machine where the bounds of the tests were chosen. */
const USUAL_MS = 3.5

/**
 * How many times longer than usual this machine takes for fixed work at the moment, at least 1. Time divided by it is a
 * ratio to that work: the same on a slow machine, and on one that is slow for a while.
 */
export function slowness(): number {
  // The least of three: a garbage collection takes as long as several of them.
  const times = Array.from({ length: 3 }, () => {
    const begun = process.cpuUsage()
    JSON.stringify(JSON.parse(YARDSTICK))
    return processorMsSince(begun)
  })
  return Math.max(1, Math.min(...times) / USUAL_MS)
}

const TRIES = 5

/**
 * The least of some measurements, in milliseconds of the usual machine. It measures again only while all of them exceed
 * the bound: costs that the work does not cause (garbage collection, code compiled at its first run) do not occur each
 * time.
 */
export async function leastUsualMs(
  boundMs: number,
  measure: () => number | Promise<number>,
  tries = TRIES,
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < tries && least >= boundMs; count++) {
    const before = slowness()
    const ms = await measure()
    least = Math.min(least, ms / Math.max(before, slowness()))
  }
  return least
}
