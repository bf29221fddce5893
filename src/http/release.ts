import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The release that runs, as the build wrote it (bundle.mjs). */
export interface Release {
  version: string
  /** `unknown` where there was no repository at the build. */
  commit: string
}

/** Beside the bundle, and for the sources in the folder of the last build. */
const PLACES = ['../release.json', '../../release.json', '../../dist/server/release.json']

export function readRelease(): Release {
  for (const place of PLACES) {
    try {
      return JSON.parse(readFileSync(join(import.meta.dirname, place), 'utf8'))
    } catch {
      // The next place has it, or nothing was built.
    }
  }
  return { version: 'unknown', commit: 'unknown' }
}
