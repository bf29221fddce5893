import { expect } from 'vitest'

const SAMPLE_MS = 10
const EVERY_MS = 200

/**
 * What a bound of time is multiplied by where the machine has other work: how many times longer than alone a few
 * milliseconds of work took meanwhile, in the median; at least 1.
 */
export function watchCrowding(): { stop(): number } {
  const samples = [crowding()]
  const sampling = setInterval(() => samples.push(crowding()), EVERY_MS)
  return {
    stop() {
      clearInterval(sampling)
      samples.push(crowding())
      return samples.sort((a, b) => a - b)[samples.length >> 1] as number
    },
  }
}

/** Does the work, and fails where it takes longer than it may on a machine that has no other. */
export async function inTime(withinMs: number, work: () => Promise<unknown>): Promise<void> {
  const crowding = watchCrowding()
  const begun = performance.now()
  let [tookMs, crowded] = [0, 1]
  try {
    await work()
  } finally {
    tookMs = performance.now() - begun
    crowded = crowding.stop()
  }
  expect(tookMs).toBeLessThan(withinMs * crowded)
}

function crowding(): number {
  const begun = performance.now()
  const used = process.cpuUsage()
  const usedMs = () => {
    const { user, system } = process.cpuUsage(used)
    return (user + system) / 1000
  }
  while (usedMs() < SAMPLE_MS) JSON.parse('[0]')
  return Math.max(1, (performance.now() - begun) / usedMs())
}
