/**
 * Milliseconds of processor time of this process for the work, in all of its threads. Unlike elapsed time, it is the
 * same on a busy machine.
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
