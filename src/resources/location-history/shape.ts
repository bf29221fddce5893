import type { HistoryKey } from '../../../db/queries/point-lines.ts'
import { distanceToWayM, type Place } from '../../../stream/geometry.ts'

/** A point as far as its track's shape needs it. */
export interface Vertex extends HistoryKey, Place {
  /** Metres a second; NaN where it says none. */
  speed: number
  /** Whether it counts as wrong: such a point is no part of the shape, and is kept beside it. */
  isAnomaly: boolean
}

/** Takes the vertices of any number of tracks, each in the order of its time, and says which of them make their shape. */
export interface Simplifier {
  /** Returns whether that was so much work that others should have a turn. */
  add(vertex: Vertex): boolean
  /** How many are kept so far. */
  readonly count: number
  /** Those that are kept. The first and the last of each track are among them. Others should have a turn at each step. */
  finish(): Generator<void, HistoryKey[]>
}

/** Worst, where each point is split off alone, these are 33,000 distances: 3 ms. */
const BLOCK_POINTS = 256

/**
 * Keeps what the tracks need to stay within `toleranceM` of where they were: Douglas and Peucker, block by block, so that
 * neither memory nor the longest step depends on how long a track is. The ends of a block stay as well.
 */
export function createToleranceSimplifier(toleranceM: number): Simplifier {
  const kept: HistoryKey[] = []
  const blocks = new Map<number, Vertex[]>()

  /** Keeps of a block what it needs beside its last vertex. */
  function reduce(block: readonly Vertex[]): void {
    const needed = new Uint8Array(block.length)
    needed[0] = 1
    const open: [from: number, to: number][] = [[0, block.length - 1]]
    for (let part = open.pop(); part; part = open.pop()) {
      const [from, to] = part
      let farthest = -1
      let distance = toleranceM
      for (let at = from + 1; at < to; at++) {
        const away = distanceToWayM(block[at] as Vertex, block[from] as Vertex, block[to] as Vertex)
        if (away <= distance) continue
        farthest = at
        distance = away
      }
      if (farthest === -1) continue
      needed[farthest] = 1
      open.push([from, farthest], [farthest, to])
    }
    for (let at = 0; at < block.length - 1; at++) if (needed[at]) kept.push(toKey(block[at] as Vertex))
  }

  return {
    add(vertex) {
      if (vertex.isAnomaly) {
        kept.push(toKey(vertex))
        return false
      }
      const block = blocks.get(vertex.subject)
      if (!block) {
        blocks.set(vertex.subject, [vertex])
        return false
      }
      block.push(vertex)
      if (block.length < BLOCK_POINTS) return false
      reduce(block)
      blocks.set(vertex.subject, [vertex])
      return true
    },

    get count() {
      return kept.length
    },

    *finish() {
      for (const block of blocks.values()) {
        if (block.length > 1) reduce(block)
        kept.push(toKey(block.at(-1) as Vertex))
        yield
      }
      blocks.clear()
      return kept
    },
  }
}

export const toKey = ({ subject, recordedAt }: Vertex): HistoryKey => ({ subject, recordedAt })
