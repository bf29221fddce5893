import { findExecutable } from './commands.ts'
import { requireExecutable } from './debian.ts'
import { available, type Service, Unavailable } from './services.ts'

/**
 * The same version of the browser without desktop windows: starting it and opening three pages takes 1.6 instead of 4.6
 * s of processor time.
 */
const SHELL = 'chromium-headless-shell'

/** Ensures that a browser for the pages of console/ is installed. */
export async function findChromium(): Promise<Service<{ executable: string }>> {
  return await available(async () => {
    if (process.platform !== 'linux') throw new Unavailable('Chromium is found by itself only on Linux')
    if (!installed()) await requireExecutable(SHELL, [SHELL, 'fonts-liberation'], 'install chromium')
    return { executable: installed() ?? SHELL, stop: async () => {} }
  })
}

const installed = () => findExecutable(SHELL) ?? findExecutable('chromium')
