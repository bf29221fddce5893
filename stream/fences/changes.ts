import type { Queryable } from '../../db/client.ts'
import {
  type FenceSpans,
  listFences,
  listFenceVersions,
  listOwners,
  type SpanColumns,
} from '../../db/queries/geofence-spans.ts'
import type { Place } from '../geometry.ts'
import { createFenceMap, type FenceMap } from './fence-map.ts'

/**
 * Decides which times of which subjects are judged again after points are stored, so that almost none are: among points
 * in order, only those that lie in other geofences than the point before. Uncertain times are judged again too. Judging
 * reads the history (src/resources/geofence-events/), so nothing here decides about a crossing.
 *
 * For each subject it remembers the geofences around its newest fix, with the log offset of the record that set it. The
 * statement that stores points in order compares that offset with the table (`copy-points.ts`). Changed geofences are
 * looked up once a second, and again where the points are stored (`insertSpans`), so a change by another process counts
 * from the moment it is committed.
 */
const LOOK_EVERY_MS = 1_000
/** Late points further apart than this are judged separately, without the fixes between them. */
const GAP_MS = 3_600_000

interface Organization {
  id: string
  /** The version of the newest change of the organization's geofences; 0 if it never had any. */
  version: number
  fences: FenceMap | undefined
}

/** The geofences around the newest fix of a subject, which the record at `logOffset` set. */
interface Position {
  fences: FenceMap
  inside: readonly number[]
  logOffset: number
}

/** Times of subjects, sorted by subject and time. */
type Times = readonly { subject: number; recordedAt: number }[]
type Fixes = readonly (Times[number] & Place)[]

export interface FenceChanges {
  /**
   * Reads the organizations of these subjects and their geofences; called before the transaction that stores the points.
   */
  prepare(points: Times): Promise<void>
  /**
   * The spans to judge for points that are newer than all of their subjects; `before` returns the newest fix's
   * `logOffset`.
   */
  inOrder(points: Fixes, before: (subject: number) => number | null): FenceSpans
  /** The spans to judge for changes at any of these times. */
  at(times: Times): FenceSpans
  /** Remembers the newest fix of a subject, once it is stored. */
  set(subject: number, place: Place, logOffset: number): void
}

export function createFenceChanges(db: Queryable): FenceChanges {
  const organizations = new Map<string, Organization>()
  const owners = new Map<number, Organization>()
  const positions = new Map<number, Position>()
  let knownVersion = 0
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    const now = performance.now()
    for (const { organizationId, version } of await listFenceVersions(db, knownVersion)) {
      const organization = toOrganization(organizationId)
      organization.version = version
      organization.fences = undefined
      knownVersion = version
    }
    lookedAt = now
  }

  function toOrganization(id: string): Organization {
    const organization = organizations.get(id) ?? { id, version: 0, fences: undefined }
    organizations.set(id, organization)
    return organization
  }

  /** Reads the organizations of the points' subjects and their geofences. */
  async function learn(points: Times): Promise<void> {
    const unknown = new Set<number>()
    for (const { subject } of points) if (!owners.has(subject)) unknown.add(subject)
    if (unknown.size > 0) {
      for (const [subject, id] of await listOwners(db, [...unknown])) owners.set(subject, toOrganization(id))
    }
    const concerned = new Set<Organization>()
    for (const { subject } of points) {
      const organization = owners.get(subject)
      if (organization && organization.version > 0 && !organization.fences) concerned.add(organization)
    }
    for (const organization of concerned) await load(organization)
  }

  async function load(organization: Organization): Promise<void> {
    while (!organization.fences) {
      const { version } = organization
      const fences = await listFences(db, organization.id)
      if (version === organization.version)
        organization.fences = createFenceMap(fences.map(({ shape }) => shape))
    }
  }

  function toSpans<T extends Times[number]>(
    points: readonly T[],
    addRun: (crossing: SpanColumns, run: readonly T[], fences: FenceMap) => void,
  ): FenceSpans {
    const spans: FenceSpans = { crossing: noSpans(), elsewhere: noSpans(), knownVersion }
    for (const run of runsOf(points)) {
      add(spans.elsewhere, run, 0, run.length - 1)
      const owner = owners.get((run[0] as T).subject)
      if (owner?.fences) addRun(spans.crossing, run, owner.fences)
      // The geofences have changed since `prepare`.
      else if (owner ? owner.version > 0 : knownVersion > 0) add(spans.crossing, run, 0, run.length - 1)
    }
    return spans
  }

  return {
    async prepare(points) {
      if (performance.now() - lookedAt > LOOK_EVERY_MS) {
        looking ??= look().finally(() => {
          looking = undefined
        })
        await looking
      }
      if (knownVersion > 0) await learn(points)
    },

    inOrder: (points, before) =>
      toSpans(points, (crossing, run, fences) => {
        const { subject } = run[0] as Fixes[number]
        const position = positions.get(subject)
        const isKnown = position?.fences === fences && position.logOffset === before(subject)
        let last = isKnown ? position.inside : undefined
        run.forEach(({ lat, lng }, index) => {
          const inside = fences.locate(lat, lng)
          if (!last || !areSame(last, inside)) add(crossing, run, index, index)
          last = inside
        })
      }),

    at: times => toSpans(times, addGroups),

    set(subject, { lat, lng }, logOffset) {
      const fences = owners.get(subject)?.fences
      if (fences) positions.set(subject, { fences, inside: fences.locate(lat, lng), logOffset })
      else positions.delete(subject)
    },
  }
}

const noSpans = (): SpanColumns => ({ subject: [], from: [], to: [] })

function add(spans: SpanColumns, run: Times, first: number, last: number): void {
  spans.subject.push((run[first] as Times[number]).subject)
  spans.from.push((run[first] as Times[number]).recordedAt)
  spans.to.push((run[last] as Times[number]).recordedAt)
}

/** Adds the times of one subject as spans; times close together become one span. */
function addGroups(spans: SpanColumns, run: Times): void {
  let first = 0
  for (let index = 1; index <= run.length; index++) {
    const [before, here] = [run[index - 1] as Times[number], run[index]]
    if (here && here.recordedAt - before.recordedAt <= GAP_MS) continue
    add(spans, run, first, index - 1)
    first = index
  }
}

/** Splits the points into one run for each subject. */
function* runsOf<T extends Times[number]>(points: readonly T[]): Generator<readonly T[]> {
  for (let start = 0, end = 1; start < points.length; end++) {
    if (points[end]?.subject === points[start]?.subject) continue
    yield points.slice(start, end)
    start = end
  }
}

const areSame = (a: readonly number[], b: readonly number[]): boolean =>
  a === b || (a.length === b.length && a.every((one, index) => one === b[index]))
