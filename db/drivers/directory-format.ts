import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from '../durable-files.ts'

/**
 * The directory of the embedded database contains a file with its format, so that a release that cannot read it says so
 * before it opens anything: opening replays the log, which changes files. Older releases wrote no such file, and format
 * 1. A release that changes the directory's contents raises the number; changes of the schema are migrations
 * (`migrate.ts`).
 */
const FORMAT = 1
/** PostgreSQL's own files have another format in each major version. PGlite has this one. */
const POSTGRES = '18'
const FILE = 'FIELDLINE_FORMAT'

/** Writes the file into a directory that is being created. */
export function writeFormat(directory: string): void {
  const file = openSync(join(directory, FILE), 'w', 0o600)
  try {
    // At an explicit position: the tests of power cuts follow each write to the directory.
    const bytes = Buffer.from(`${FORMAT}\n`)
    writeSync(file, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(file)
  }
}

/** Throws if this release cannot read the directory. A missing directory is fine. */
export function checkFormat(directory: string): void {
  if (!existsSync(directory) || readdirSync(directory).length === 0) return
  const path = join(directory, FILE)
  const format = existsSync(path) ? readFileSync(path, 'utf8').trim() : null
  if (format !== null && format !== `${FORMAT}`) {
    throw new Error(
      `${directory} has the format ${JSON.stringify(format.slice(0, 20))} of another release, and this one reads ${FORMAT}: ` +
        'start a release that reads it, or give this one another DATA_DIR.',
    )
  }
  const postgres = join(directory, 'PG_VERSION')
  if (!existsSync(postgres)) {
    throw new Error(`${directory} holds other files than a database: give this release another DATA_DIR.`)
  }
  const version = readFileSync(postgres, 'utf8').trim()
  if (version !== POSTGRES) {
    throw new Error(
      `${directory} has files of PostgreSQL ${version.slice(0, 20)}, and this release reads ${POSTGRES}: ` +
        'start a release that reads them, or give this one another DATA_DIR.',
    )
  }
  if (format === null) createFile(path, `${FORMAT}\n`)
}
