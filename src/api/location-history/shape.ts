import type { HistoryKey } from '../../../db/queries/point-lines.ts'
import { distanceToWayM, type Place } from '../../../stream/geometry.ts'

/** A point as far as its track's shape needs it. */
export interface Vertex extends HistoryKey, Place {}

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

interface Candidate extends Vertex {
  before: Candidate | undefined
  after: Candidate | undefined
  /** Where it stands in the heap; -1 is nowhere. */
  place: number
  /** What leaving it out would cost, in metres; without end for the ends of a track. */
  cost: number
  /** What has been left out beside it. */
  lost: number
}

/**
 * Keeps at most `maxPoints` of all tracks together (and the ends of each, even where these are more): whenever there is one
 * more, the one goes whose absence is seen least. It is how far it stands from the way between its neighbours, and no
 * less than what went beside it before. This is SQUISH-E (Muckell et al., 2014): memory is that of what is kept.
 */
export function createCountSimplifier(maxPoints: number): Simplifier {
  const heap: Candidate[] = []
  const lasts = new Map<number, Candidate>()
  const firsts: Candidate[] = []

  function put(candidate: Candidate, place: number): void {
    heap[place] = candidate
    candidate.place = place
  }

  function rise(candidate: Candidate): void {
    let place = candidate.place
    while (place > 0) {
      const above = heap[(place - 1) >> 1] as Candidate
      if (above.cost <= candidate.cost) break
      put(above, place)
      place = (place - 1) >> 1
    }
    put(candidate, place)
  }

  function sink(candidate: Candidate): void {
    let place = candidate.place
    for (;;) {
      const [left, right] = [heap[place * 2 + 1], heap[place * 2 + 2]]
      const least = right && left && right.cost < left.cost ? right : left
      if (!least || least.cost >= candidate.cost) break
      const next = least.place
      put(least, place)
      place = next
    }
    put(candidate, place)
  }

  function weigh(candidate: Candidate): void {
    const { before, after, lost } = candidate
    candidate.cost = before && after ? lost + distanceToWayM(candidate, before, after) : Infinity
    rise(candidate)
    sink(candidate)
  }

  function remove(candidate: Candidate): void {
    const last = heap.pop() as Candidate
    if (last !== candidate) {
      put(last, candidate.place)
      rise(last)
      sink(last)
    }
    const { before, after, cost } = candidate
    if (!before || !after) return
    before.after = after
    after.before = before
    for (const neighbour of [before, after]) {
      neighbour.lost = Math.max(neighbour.lost, cost)
      if (neighbour.before && neighbour.after) weigh(neighbour)
    }
  }

  return {
    add(vertex) {
      const before = lasts.get(vertex.subject)
      const candidate: Candidate = {
        ...vertex,
        before,
        after: undefined,
        place: heap.length,
        cost: Infinity,
        lost: 0,
      }
      put(candidate, heap.length)
      lasts.set(vertex.subject, candidate)
      if (!before) firsts.push(candidate)
      else {
        before.after = candidate
        weigh(before)
      }
      const [least] = heap
      if (heap.length > maxPoints && least && least.cost < Infinity) remove(least)
      return false
    },

    get count() {
      return heap.length
    },

    *finish() {
      const kept: HistoryKey[] = []
      for (const first of firsts) {
        for (let at: Candidate | undefined = first; at; at = at.after) kept.push(toKey(at))
        yield
      }
      return kept
    },
  }
}

const toKey = ({ subject, recordedAt }: Vertex): HistoryKey => ({ subject, recordedAt })
