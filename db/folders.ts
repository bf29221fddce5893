import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The project's own folder, whether this runs from the sources or from dist/. */
export const PROJECT = dirname(createRequire(import.meta.url).resolve('#package.json'))

/**
 * The bundle of a thread, by its source. Tests, which run from the sources, need it too, since a thread cannot load
 * TypeScript.
 */
export const bundleOf = (source: `${string}.ts`) => join(PROJECT, 'dist/server', source.replace(/ts$/, 'js'))

export const MIGRATIONS = join(PROJECT, 'db/migrations')
