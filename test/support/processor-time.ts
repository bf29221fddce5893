/**
 * Milliseconds of processor that this process took for the work, all of its threads together. Unlike the time that passes, it is
 * the same on a machine that has other work.
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
