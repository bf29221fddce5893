import { setTimeout as pause } from 'node:timers/promises'
import { type Database, notify, type Queryable } from '../../../db/client.ts'
import { withDemand } from '../../../db/demand.ts'
import {
  type GeofenceEvent,
  listKnownCrossings,
  writeCrossings,
} from '../../../db/queries/geofence-events.ts'
import {
  holdFences,
  type JudgedFix,
  listFences,
  listUnjudged,
  readFixes,
  returnSpans,
  takeSpans,
} from '../../../db/queries/geofence-spans.ts'
import { insertEvents } from '../../../db/queries/webhook-events.ts'
import { CROSSINGS } from '../../../db/schema/geofence-events.ts'
import { createFenceMap } from '../../../stream/fences/fence-map.ts'
import { compare, type Fences, judgeSpan, mergeSpans } from './judge.ts'

/**
 * Detects crossings of geofences. Each storer of points notes, in the same transaction, the time spans in which
 * something may have changed (stream/fences/changes.ts). This job reads the history of these spans and compares its
 * crossings with the stored events. One transaction writes the difference (new crossings, retracted ones, and restored
 * ones) with the events for webhooks, and deletes the spans. So the events depend only on the stored points, not on
 * their order or repetition, nor on which process dies when.
 *
 * Organizations take turns, each with a step of some 50 ms. A step locks the organization's geofences, so only one
 * process judges for it, and nobody changes the geofences meanwhile. If that process dies, the next one takes the same
 * spans.
 */
const POLL_MS = 250
const RETRY_MS = 5_000
/**
 * So an organization that waits, for a lock or its own slow step, delays no other. Jobs keep two connections of the
 * lane.
 */
const AT_ONCE = 2
const SPANS = 500
/** They take 20 ms to read. */
const FIXES = 5_000
const MIN_FIXES = 10
const CROSSINGS_AT_ONCE = 500
/** The geofence maps of recently judged organizations, at most 2 MB each. */
const KEPT = 50

export function startGeofences(options: { db: Database; onError: (error: unknown, doing: string) => void }): {
  stop(): Promise<void>
} {
  const { db, onError } = options
  const stopping = new AbortController()
  const step = createSteps(db)
  /** The time of the next attempt for each organization whose step failed, by `performance.now()`. */
  const failed = new Map<string, number>()

  async function judgeAll(): Promise<boolean> {
    let did = false
    const left = await listUnjudged(db.system)
    const judgeNext = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        if (stopping.signal.aborted) return
        if ((failed.get(next) ?? 0) > performance.now()) continue
        try {
          did = (await step(next)) || did
          failed.delete(next)
        } catch (error) {
          onError(error, `judging by geofences of the organization ${next}, trying again`)
          failed.set(next, performance.now() + RETRY_MS)
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, judgeNext))
    return did
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const did = await judgeAll().catch(error => onError(error, 'looking for what geofences are to judge'))
      if (!did) await pause(POLL_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const running = withDemand({ lane: 'background' }, run)

  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/**
 * Judges some of the waiting spans of an organization. Resolves to false if there were none, or another process is at
 * it.
 */
export function createSteps(db: Database): (organizationId: string) => Promise<boolean> {
  const kept = new Map<string, { version: number; fences: Fences }>()

  async function fencesOf(tx: Queryable, organizationId: string, version: number): Promise<Fences> {
    const known = kept.get(organizationId)
    kept.delete(organizationId)
    const fences = known?.version === version ? known.fences : await loadFences(tx, organizationId)
    kept.set(organizationId, { version, fences })
    for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest)
    return fences
  }

  return organizationId =>
    db.system.transaction(async tx => {
      const version = await holdFences(tx, organizationId)
      if (version === null) return false
      const spans = mergeSpans(await takeSpans(tx, organizationId, SPANS))
      if (spans.length === 0) return false
      const fences = await fencesOf(tx, organizationId, version)
      const limit = Math.max(MIN_FIXES, Math.floor(FIXES / spans.length))
      const fixes: JudgedFix[][] = spans.map(() => [])
      for (const fix of await readFixes(tx, spans, limit)) fixes[fix.span]?.push(fix)
      const judged: ReturnType<typeof judgeSpan>[] = []
      const waiting = spans.slice()
      let crossings = 0
      for (const [index, span] of spans.entries()) {
        if (crossings >= CROSSINGS_AT_ONCE) break
        const limits = { limit, maxCrossings: CROSSINGS_AT_ONCE - crossings }
        const found = judgeSpan(span, fixes[index] ?? [], fences, limits)
        crossings += found.crossings.length
        judged.push(found)
        waiting.shift()
      }
      await returnSpans(tx, organizationId, [...waiting, ...judged.flatMap(({ left }) => left ?? [])])
      const known = await listKnownCrossings(
        tx,
        judged.map(({ judged }) => judged),
      )
      const holding = judged.flatMap(({ crossings }) => crossings)
      await announce(
        tx,
        organizationId,
        await writeCrossings(tx, organizationId, compare(holding, known, fences)),
      )
      return true
    })
}

async function loadFences(tx: Queryable, organizationId: string): Promise<Fences> {
  const list = await listFences(tx, organizationId)
  return { list, map: createFenceMap(list.map(({ shape }) => shape)) }
}

/** On commit, webhooks and live clients receive these events in their present state. */
async function announce(
  tx: Queryable,
  organizationId: string,
  events: readonly GeofenceEvent[],
): Promise<void> {
  for (const crossing of CROSSINGS) {
    const payloads = events.filter(({ event }) => event === crossing).map(event => JSON.stringify(event))
    await insertEvents(tx, organizationId, { event: `geofence-${crossing}`, dataTypeId: null, payloads })
  }
  const changes = events.map(({ _id }) => ({
    kind: 'record' as const,
    topic: 'geofences',
    organizationId,
    recordId: _id,
  }))
  await notify(tx, ...changes)
}
