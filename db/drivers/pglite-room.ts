import { statfsSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'

/**
 * If the log cannot grow, PostgreSQL ends in the middle of a statement (PANIC), and with PGlite that is our process. So
 * nothing is written while there is room for less than four segments of 16 MiB: transactions are read-only, reads are
 * answered, and writes fail with `disk_full` until there is room again.
 */
const NEEDED_MIB = 64
const MIB = 1024 * 1024
const READ_ONLY = '25006'
const DISK_FULL = '53100'

export interface Room {
  readonly isFull: boolean
  /** Checks the free space; called before each transaction, and takes some microseconds. */
  look(): Promise<void>
  /** Explains a failed statement: one that may not write is not at fault. */
  explain(error: Failure): Failure
}

interface Failure {
  message: string
  code?: string
}

const readFreeMib = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory)
  return Math.floor((bavail * bsize) / MIB)
}

/** Whether the embedded database in the directory writes. */
export const hasRoom = (directory: string): boolean => readFreeMib(directory) >= NEEDED_MIB

export function createRoom(pglite: PGlite, directory: string): Room {
  let isFull = false
  let freeMib = 0
  return {
    get isFull() {
      return isFull
    },
    async look() {
      freeMib = readFreeMib(directory)
      if (freeMib < NEEDED_MIB === isFull) return
      isFull = !isFull
      await pglite.exec(`SET default_transaction_read_only = ${isFull ? 'on' : 'off'}`)
    },
    explain(error) {
      if (!isFull || error.code !== READ_ONLY) return error
      const message = `The disk of the embedded database is full: ${freeMib} MiB are free, and nothing is written with less than ${NEEDED_MIB}`
      return { ...error, message, code: DISK_FULL }
    },
  }
}
