import type { HistoryKey } from '../../../db/queries/point-lines.ts'
import { distanceToWayM, type Place } from '../../../stream/geometry.ts'

/** The part of a point that its track's shape depends on. */
export interface Vertex extends HistoryKey, Place {
  /** Metres per second; NaN if unknown. */
  speed: number
  /** Whether it is an anomaly: such a point does not belong to the shape, and is kept separately. */
  isAnomaly: boolean
}

/** Takes the vertices of any number of tracks, each in order of time, and selects those that make their shape. */
export interface Simplifier {
  /** Returns whether the work was so long that others should have a turn. */
  add(vertex: Vertex): boolean
  /** The number of vertices kept so far. */
  readonly count: number
  /** The kept vertices, including the first and the last of each track. Others should have a turn at each step. */
  finish(): Generator<void, HistoryKey[]>
}

/** In the worst case, where each step splits off one point, a block needs 33,000 distances: 3 ms. */
const BLOCK_POINTS = 256

/**
 * Keeps the vertices that the tracks need to stay within `toleranceM` of their shape, by the algorithm of Douglas and
 * Peucker. It works block by block, so that neither memory nor the longest step depends on the length of a track. The
 * ends of a block are kept as well.
 */
export function createToleranceSimplifier(toleranceM: number): Simplifier {
  const kept: HistoryKey[] = []
  const blocks = new Map<number, Vertex[]>()

  /** Keeps the needed vertices of a block, except its last one. */
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
