import type { Database } from '../../db/client.ts'
import { listTails, type StoredTail } from '../../db/queries/tails.ts'
import { isFast } from '../anomalies.ts'
import type { Point } from '../point.ts'
import { entriesOf, type Numbered } from './split.ts'

/**
 * The last point of each subject, as far as this writer knows. A newer point is certainly new, and the next point
 * decides whether the last one is an anomaly. So points that come in order, which is almost all, are judged without
 * asking the database. Another writer may have stored meanwhile, when a partition moved in Kafka. Then the unique index
 * or the row of the newest fix rejects the batch (`db/queries/copy-points.ts`), and the writer forgets these tails.
 */
export interface Tail extends StoredTail {
  organization: { id: string | null; maxAccuracy: number | null; stale: boolean }
}

/** Points that come in order, each with whether the way to it takes more than 100 m/s. */
export interface InOrder {
  points: readonly Numbered<Point>[]
  fast: readonly boolean[]
}

/** For each point, whether the way to it takes more than 100 m/s; null if it does not come in order. */
type Plan = (boolean | null)[]

export interface Tails {
  /**
   * Separates the points that cannot be stored yet and are no anomaly, from points sorted by subject and time. They are
   * in order and accurate enough, and neither they nor the last stored point are impossible. The first of two points
   * with one identity may be among them.
   */
  plan(points: readonly Numbered<Point>[]): Promise<{ inOrder: InOrder; others: Numbered<Point>[] }>
  /** Reads the unknown tails of the points' subjects, so that `of` can return them. */
  learn(points: readonly Point[]): Promise<void>
  of(subject: number): Tail
  set(subject: number, tail: StoredTail): void
  forget(points: readonly Point[]): void
}

export function isInaccurate({ accuracy }: Point, { organization: { maxAccuracy } }: Tail): boolean {
  return accuracy !== null && maxAccuracy !== null && accuracy > maxAccuracy
}

export function createTails(db: Database): Tails {
  const tails = new Map<number, Tail>()
  const organizations = new Map<string, Tail['organization']>()

  // A change of settings arrives as a change of visibility, which is more frequent.
  db.onChange(event => {
    if (event.kind === 'visibility') expire(event.organizationId)
    else if (event.kind === 'resync') for (const id of [...organizations.keys()]) expire(id)
  })

  function expire(organizationId: string): void {
    const organization = organizations.get(organizationId)
    if (organization) organization.stale = true
    organizations.delete(organizationId)
  }

  async function learn(points: readonly Point[]): Promise<void> {
    const unknown = new Set<number>()
    for (const { subject } of points) {
      const tail = tails.get(subject)
      if (!tail || tail.organization.stale) unknown.add(subject)
    }
    if (unknown.size === 0) return
    const nobody = { id: null, maxAccuracy: null, stale: false }
    // Subjects of a deleted organization are not in the answer and keep this empty tail.
    for (const subject of unknown) tails.set(subject, { ...NOTHING, organization: nobody })
    for (const { subject, organizationId, maxAccuracy, ...tail } of await listTails(db.writer, [
      ...unknown,
    ])) {
      let organization = organizations.get(organizationId)
      if (!organization) {
        organization = { id: organizationId, maxAccuracy, stale: false }
        organizations.set(organizationId, organization)
      }
      tails.set(subject, { ...tail, organization })
    }
  }

  /** Plans the points of one subject, from index `begin` to `end`. */
  function planSubject(points: readonly Point[], begin: number, end: number, plan: Plan): void {
    const tail = tails.get((points[begin] as Point).subject) as Tail
    if (tail.recordedAt !== null && !tail.isNewest) return
    let before: Point | Tail = tail
    let fast = tail.fast
    for (let index = begin; index < end; index++) {
      const point = points[index] as Point
      if (before.recordedAt !== null && point.recordedAt <= before.recordedAt) continue
      const next = before.recordedAt !== null && isFast(before as Point, point)
      if ((fast && next) || isInaccurate(point, tail)) return void plan.fill(null, begin, end)
      plan[index] = next
      fast = next
      before = point
    }
  }

  return {
    learn,
    async plan(points) {
      const entries = entriesOf(points)
      await learn(entries)
      const plan: Plan = Array.from(entries, () => null)
      for (let begin = 0, end = 0; begin < entries.length; begin = end) {
        const { subject } = entries[begin] as Point
        while (end < entries.length && entries[end]?.subject === subject) end++
        planSubject(entries, begin, end, plan)
      }
      return {
        inOrder: {
          points: points.filter((_, index) => plan[index] !== null),
          fast: plan.filter(isFast => isFast !== null),
        },
        others: points.filter((_, index) => plan[index] === null),
      }
    },
    of: subject => tails.get(subject) as Tail,
    set(subject, tail) {
      const known = tails.get(subject)
      if (known) tails.set(subject, { ...tail, organization: known.organization })
    },
    forget(points) {
      for (const { subject } of points) tails.delete(subject)
    },
  }
}

const NOTHING: StoredTail = {
  recordedAt: null,
  lat: 0,
  lng: 0,
  fast: false,
  isNewest: false,
  logOffset: null,
}
