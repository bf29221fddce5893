import { createHash } from 'node:crypto'
import type { Positions } from '../log.ts'

/**
 * What a live client has seen: a position in the log per partition, and what it was looking at. It holds on every
 * process and across restarts. Where the caller's visibility or the filter is another one by now, states that left it
 * would never be taken away from the client, so such a cursor leads to a snapshot.
 */
export interface Cursor {
  positions: Positions
  /** A digest of organization, visibility and filter, see `digestView`. */
  view: string
  /** Our clock when it was written, in milliseconds since 1970: silence is no record of the log. */
  at: number
}

export function writeCursor(cursor: Cursor): string {
  const positions = [...cursor.positions].map(([partition, offset]) => `${partition}:${offset}`).join(',')
  return Buffer.from(`1.${cursor.view}.${cursor.at}.${positions}`).toString('base64url')
}

/** Reads a cursor; null where it is none of ours. */
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
