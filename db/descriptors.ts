import { readFileSync } from 'node:fs'

/** The limit where the system does not report one (macOS): the default there, raised by Node. */
const UNKNOWN_LIMIT = 10_240
/** PostgreSQL's own default for a process, and the minimum with which it starts. */
const MAX_DATABASE_FILES = 1_000
const MIN_DATABASE_FILES = 64
/**
 * Everything besides the database and connections: pools, Kafka, webhooks in transit (256), files that arrive or are
 * read.
 */
const MAX_OTHERS = 1_000

/** Divides the descriptors of this process, so that no use takes the last one from another. */
export interface Descriptors {
  /** Files that the embedded database keeps open. */
  databaseFiles: number
  /** Connections that are accepted. */
  connections: number
}

/** At most a quarter for the embedded database, a quarter for everything else, and the rest for connections. */
export function divideDescriptors(limit: number, isEmbedded: boolean): Descriptors {
  const quarter = Math.floor(limit / 4)
  const databaseFiles = Math.max(MIN_DATABASE_FILES, Math.min(MAX_DATABASE_FILES, quarter))
  const others = Math.min(MAX_OTHERS, quarter)
  return { databaseFiles, connections: limit - others - (isEmbedded ? databaseFiles : 0) }
}

/** The soft limit, which Node raises to the hard one when it starts. */
export function readDescriptorLimit(): number {
  try {
    const limit = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(limit) || UNKNOWN_LIMIT
  } catch {
    return UNKNOWN_LIMIT
  }
}
