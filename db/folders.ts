import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The project's own folder, whether this runs from the sources or from dist/. */
export const PROJECT = dirname(createRequire(import.meta.url).resolve('#package.json'))
export const MIGRATIONS = join(PROJECT, 'db/migrations')
