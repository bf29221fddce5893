import type { Database } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { type AdoptedPoint, deleteAdopted, listAdopted } from '../../db/queries/adopted-points.ts'
import { adoptKnown, listAdoptable } from '../../db/queries/unknown-references.ts'
import type { Log, Subject } from '../../stream/log.ts'
import type { Point } from '../../stream/point.ts'

/**
 * Takes the kept points of adopted references to the log, and deletes them when they are durable there. A process that
 * dies in between leaves them, and they are appended again: the same points are stored once.
 */
const LOOK_EVERY_MS = 5_000
/** References that got a device in another way than by adoption are looked for less often. */
const KNOWN_EVERY = 12
const TOGETHER = 500
const CONNECTIONS_TOGETHER = 100

export function startAdoption(options: {
  db: Database
  log: Log
  onError: (error: unknown, doing: string) => void
}): { close(): Promise<void> } {
  const { db, log, onError } = options
  const source = { ended: false }
  let round = 0

  async function adopt(): Promise<void> {
    if (round++ % KNOWN_EVERY === 0) {
      for (const { organizationId, connectionId } of await listAdoptable(db.system, CONNECTIONS_TOGETHER))
        while (await db.tenant(organizationId, tx => adoptKnown(tx, organizationId, connectionId)))
          if (source.ended) return
    }
    while (!source.ended && !log.full) {
      const points = await listAdopted(db.system, TOGETHER)
      if (points.length === 0) return
      await append(points)
      await deleteAdopted(db.system, points)
    }
  }

  /** By organization, whose turns in the log they take. */
  async function append(points: readonly AdoptedPoint[]): Promise<void> {
    const organizations = new Map<string, AdoptedPoint[]>()
    for (const point of points) {
      const { organizationId } = point.device
      organizations.set(organizationId, [...(organizations.get(organizationId) ?? []), point])
    }
    for (const own of organizations.values()) {
      const subjects = new Map<string, Subject>(
        own.map(({ device }) => [device.id, { kind: 'device', ...device }]),
      )
      const entries = own.map(
        ({ point, device }): Point => ({ kind: 'point', ...point, subject: device.subject }),
      )
      await log.append(entries, {
        get ended() {
          return source.ended
        },
        subjects: [...subjects.values()],
      })
    }
  }

  let adopting: Promise<void> | null = null
  let isDue = false
  function adoptSoon(): void {
    isDue = true
    if (adopting || source.ended) return
    isDue = false
    adopting = withDemand({ lane: 'background' }, adopt)
      .catch(error => {
        if (!source.ended) onError(error, 'taking the points of adopted references')
      })
      .finally(() => {
        adopting = null
        if (isDue) adoptSoon()
      })
  }
  const timer = setInterval(adoptSoon, LOOK_EVERY_MS)
  const stopListening = db.onChange(({ kind }) => {
    if (kind === 'connection') adoptSoon()
  })
  adoptSoon()
  return {
    async close() {
      source.ended = true
      clearInterval(timer)
      stopListening()
    },
  }
}
