import type { Database } from '../../../db/client.ts'
import { withDemand } from '../../../db/demand.ts'
import { listStandings } from '../../../db/queries/sessions.ts'
import {
  allowsTeamPositions,
  findDriver,
  listTeamPositions,
  type TeamPosition,
} from '../../../db/queries/team-positions.ts'
import type { Subject } from '../../../stream/log.ts'
import { scopeOf, visibilityOf } from '../../http/permissions.ts'

/**
 * The friends that OwnTracks shows: the teammates of the driver of the device's vehicle, as far as the driver may see
 * them. Only if the organization allows it (`settings.teamPositions`). Anybody with the device's key can read this, so
 * it shows no more than is visible to the users who were shown the key, assigned the device to the vehicle, and named
 * the driver. The point is durable by then, so no failure here affects the app's answer.
 */
const MAX_FRIENDS = 100
const WITHIN_MS = 1_000
/** How long the answer for a device is cached: an app that empties its queue asks a hundred times a second. */
const KEPT_MS = 5_000
const MAX_KEPT = 10_000
const KMH_PER_MPS = 3.6

export function createTeam(db: Database) {
  const allowed = new Map<string, Promise<boolean>>()
  const kept = new Map<string, { until: number; answer: Promise<object[]> }>()
  db.onChange(event => {
    if (event.kind === 'visibility') allowed.delete(event.organizationId)
    else if (event.kind === 'resync') allowed.clear()
    if (event.kind === 'visibility' || event.kind === 'resync') kept.clear()
    // Whoever is shown a new key may see less than those who knew the one before.
    if (event.kind === 'device') kept.delete(event.deviceId)
  })

  function isAllowed(organizationId: string): Promise<boolean> {
    const known = allowed.get(organizationId) ?? allowsTeamPositions(db.system, organizationId)
    if (!allowed.has(organizationId)) {
      allowed.set(organizationId, known)
      known.catch(() => allowed.delete(organizationId))
    }
    return known
  }

  async function read({ id, organizationId }: Subject): Promise<object[]> {
    const found = await findDriver(db.system, id)
    if (!found) return []
    const { driverId, madeBy } = found
    const userIds = [...new Set([driverId, ...madeBy])]
    const standings = await listStandings(db.system, userIds)
    const visibilities = userIds.flatMap(userId => {
      const standing = standings.get(userId)
      const sees = standing && scopeOf(standing.permissionDetails, 'view/location')
      return sees ? [visibilityOf({ ...standing, organizationId, userId })] : []
    })
    if (visibilities.length < userIds.length) return []
    const team = await listTeamPositions(
      db.system,
      organizationId,
      visibilities,
      standings.get(driverId)?.teamIds ?? [],
      [id, driverId],
      MAX_FRIENDS,
    )
    const taken = new Set<string>()
    return team.flatMap(position => toMessages(position, toTrackerId(position.name, taken)))
  }

  return async (device: Subject): Promise<object[]> => {
    const { id, organizationId } = device
    const signal = AbortSignal.timeout(WITHIN_MS)
    return withDemand({ lane: 'reading', owner: organizationId, signal }, async () => {
      if (!(await isAllowed(organizationId))) return []
      const now = performance.now()
      const known = kept.get(id)
      if (known && known.until > now) return known.answer
      kept.delete(id)
      // The oldest come first.
      for (const [key, { until }] of kept) {
        if (until > now && kept.size < MAX_KEPT) break
        kept.delete(key)
      }
      const answer = read(device)
      kept.set(id, { until: now + KEPT_MS, answer })
      answer.catch(() => kept.delete(id))
      return answer
    }).catch(() => [])
  }
}

/** A location and its owner's card. https://owntracks.org/booklet/tech/json/: whole kilometres an hour. */
function toMessages({ subjectId, name, ...fix }: TeamPosition, tid: string): object[] {
  const topic = `owntracks/team/${subjectId}`
  const rounded = (value: number | null) => (value === null ? undefined : Math.round(value))
  const location = {
    _type: 'location',
    tid,
    topic,
    lat: fix.lat,
    lon: fix.lng,
    tst: fix.recordedAt,
    acc: rounded(fix.accuracy),
    vel: rounded(fix.speed === null ? null : fix.speed * KMH_PER_MPS),
    cog: rounded(fix.heading),
    batt: rounded(fix.battery),
  }
  return [{ _type: 'card', tid, topic, name }, location]
}

/** Two characters that identify a friend in the app: initials, or others if these are taken. */
function toTrackerId(name: string, taken: Set<string>): string {
  const words = name.toUpperCase().match(/[A-Z0-9]+/g) ?? ['X']
  const initials = (words.length > 1 ? `${words[0]?.[0]}${words.at(-1)?.[0]}` : `${words[0]}X`).slice(0, 2)
  let tid = initials
  for (let n = 0; taken.has(tid); n++) tid = n.toString(36).toUpperCase().padStart(2, '0')
  taken.add(tid)
  return tid
}
