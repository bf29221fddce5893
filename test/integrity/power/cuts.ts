import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Disk, type Op, type Survival } from './disk.ts'
import { openImage } from './open-image.ts'
import { type Recording, timeOf } from './record.ts'

export interface CutsReport {
  cuts: number
  /** The number of promises in force at a cut, summed over all cuts. */
  promised: number
  lost: number
  /** Points in the history that were never sent, or that are there twice. */
  invented: number
  /** Directories that cannot be opened, or whose indexes and tables disagree. */
  broken: number
  /** Descriptions of the first of them. */
  complaints: string[]
}

const MAX_COMPLAINTS = 20

/**
 * Cuts the power at `cuts` moments of a recording. At each cut it chooses which unsynced changes survive, and looks
 * for everything that had been promised by then. `forgets` names the syncs that the disk acknowledges and ignores.
 */
export async function cutPower(
  recording: Recording,
  options: {
    cuts?: number
    seed: number
    survivals?: readonly (keyof typeof SURVIVALS)[]
    /** The numbers of operations after which the power fails; unset, they are chosen at random. */
    moments?: readonly number[]
    forgets?: (op: Op) => boolean
    log?: (line: string) => void
  },
): Promise<CutsReport> {
  const { cuts = 0, forgets = () => false, log = () => {} } = options
  const random = createRandom(options.seed)
  const report: CutsReport = { cuts: 0, promised: 0, lost: 0, invented: 0, broken: 0, complaints: [] }
  // Uses memory as a disk if there is one, because no image has to last.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'fieldline-image-'))
  const survivals = options.survivals ?? (Object.keys(SURVIVALS) as (keyof typeof SURVIVALS)[])
  const disk = new Disk(recording.base)
  let moment = 0
  try {
    for (const next of options.moments ?? chooseMoments(recording.ops, cuts, random)) {
      for (; moment < next; moment++) {
        const op = recording.ops[moment] as Op
        if (!forgets(op)) disk.apply(op, moment)
      }
      const name = survivals[report.cuts % survivals.length] as keyof typeof SURVIVALS
      const complain = (kind: 'lost' | 'invented' | 'broken', what: string) => {
        report[kind]++
        const line = `cut ${report.cuts} after ${moment} operations, ${name}: ${what}`
        if (report.complaints.length < MAX_COMPLAINTS) report.complaints.push(line)
        log(line)
      }
      report.cuts++
      const image = join(folder, 'image')
      disk.write(image, SURVIVALS[name](random, moment))
      await check(recording, image, moment, report, complain)
      if (report.cuts % 50 === 0) log(`${report.cuts} cuts, ${report.promised} answers looked for`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return report
}

async function check(
  { facts, sent, ops }: Recording,
  image: string,
  moment: number,
  report: CutsReport,
  complain: (kind: 'lost' | 'invented' | 'broken', what: string) => void,
): Promise<void> {
  const due = facts.filter(({ after }) => after < moment)
  report.promised += due.length
  try {
    const found = await openImage(image, ops[moment]?.offset ?? Number.POSITIVE_INFINITY)
    if (!found) {
      for (const { what } of due) complain('lost', what)
      return
    }
    for (const { what, holds } of due) if (!holds(found)) complain('lost', what)
    if (found.doubled > 0) complain('invented', `${found.doubled} points twice`)
    for (const [device, points] of found.points) {
      for (const [at, n] of points) {
        if (at !== timeOf(n) || n >= (sent.get(device) ?? 0)) complain('invented', `point ${n} of ${device}`)
      }
    }
  } catch (error) {
    complain('broken', String(error))
  }
}

/** Chooses half of the moments anywhere, and half right after something was promised, put into place or deleted. */
function chooseMoments(ops: readonly Op[], count: number, random: () => number): number[] {
  const delicate = ops.flatMap((op, index) =>
    op.op === 'answer' || op.op === 'rename' || op.op === 'remove' || op.path?.endsWith('pg_control')
      ? [index]
      : [],
  )
  return Array.from({ length: count }, (_, n) => {
    if (n % 2 === 0 || delicate.length === 0) return Math.ceil(random() * ops.length)
    const index = delicate[Math.floor(random() * delicate.length)] as number
    return Math.min(index + Math.floor(random() * 3), ops.length)
  }).sort((one, other) => one - other)
}

const isLog = (path: string) => path.startsWith('postgres/pg_wal/')

/** The shares of the unsynced changes that survive, from none to all. */
export const SURVIVALS = {
  nothing: () => ({ sector: () => false, name: () => false }),
  everything: () => ({ sector: () => true, name: () => true }),
  'some of it': (random: () => number): Survival => {
    const share = random()
    const salt = Math.floor(random() * 2 ** 31)
    return { sector: () => random() < share, name: order => createRandom(order ^ salt)() < share }
  },
  'data without its log': () => ({ sector: (path: string) => !isLog(path), name: () => true }),
  'the log alone': () => ({ sector: isLog, name: () => false }),
  'the newest': (random: () => number, moment: number): Survival => {
    const from = moment - Math.floor(random() * 200)
    return { sector: (_, order) => order >= from, name: order => order >= from }
  },
  'the oldest': (random: () => number, moment: number): Survival => {
    const to = moment - Math.floor(random() * 200)
    return { sector: (_, order) => order < to, name: order => order < to }
  },
} satisfies { [name: string]: (random: () => number, moment: number) => Survival }

/** Mulberry32: the same seed gives the same numbers, so that a cut that finds a fault can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
