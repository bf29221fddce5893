import { requireExecutable } from './debian.ts'
import { available, type Service, Unavailable } from './services.ts'

/** Makes sure of a browser for the pages of console/. */
export async function findChromium(): Promise<Service<{ executable: string }>> {
  return await available(async () => {
    if (process.platform !== 'linux') throw new Unavailable('Chromium is found by itself only on Linux')
    await requireExecutable('chromium', ['chromium', 'fonts-liberation'], 'install chromium')
    return { executable: 'chromium', stop: async () => {} }
  })
}
