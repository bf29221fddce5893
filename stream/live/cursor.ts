import { createHash } from 'node:crypto'
import type { Positions } from '../log.ts'

/**
 * How far a live client has seen its view: a position in the log for each partition, and a digest of the view. It is
 * valid on every process and across restarts. When the caller's visibility or filter has changed, nothing would tell
 * the client which subjects left its view, so such a cursor leads to a snapshot.
 */
export interface Cursor {
  positions: Positions
  /** A digest of organization, visibility and filter, see `digestView`. */
  view: string
  /**
   * Our clock when the cursor was written, in milliseconds since 1970: a subject that falls silent leaves no record in
   * the log.
   */
  at: number
}

export function writeCursor(cursor: Cursor): string {
  const positions = [...cursor.positions].map(([partition, offset]) => `${partition}:${offset}`).join(',')
  return Buffer.from(`1.${cursor.view}.${cursor.at}.${positions}`).toString('base64url')
}

/** Reads a cursor; null if Fieldline did not write it. */
export function readCursor(text: string): Cursor | null {
  const match = /^1\.([\w-]+)\.(\d+)\.((?:\d+:\d+(?:,|$))*)$/.exec(
    Buffer.from(text, 'base64url').toString('latin1'),
  )
  if (!match?.[1]) return null
  const positions = new Map<number, number>()
  for (const pair of match[3]?.split(',') ?? []) {
    const [partition, offset] = pair.split(':')
    if (partition && offset) positions.set(Number(partition), Number(offset))
  }
  return { positions, view: match[1], at: Number(match[2]) }
}

export function digestView(view: unknown): string {
  return createHash('sha256').update(JSON.stringify(view)).digest('base64url').slice(0, 16)
}
