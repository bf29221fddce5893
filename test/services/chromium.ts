import { findExecutable } from './commands.ts'
import { requireExecutable } from './debian.ts'
import { available, type Service, Unavailable } from './services.ts'

/** The browser without the windows of a desktop, of the same version: to start it and to open three pages takes 1.6 instead of 4.6 s of processor. */
const SHELL = 'chromium-headless-shell'

/** Makes sure of a browser for the pages of console/. */
export async function findChromium(): Promise<Service<{ executable: string }>> {
  return await available(async () => {
    if (process.platform !== 'linux') throw new Unavailable('Chromium is found by itself only on Linux')
    if (!installed()) await requireExecutable(SHELL, [SHELL, 'fonts-liberation'], 'install chromium')
    return { executable: installed() ?? SHELL, stop: async () => {} }
  })
}

const installed = () => findExecutable(SHELL) ?? findExecutable('chromium')
