import { isInVisibleHub, type VisibleHubs } from '../../../db/hub-rule.ts'
import type { DiagnosedConnection, DiagnosedDevice, Reported } from '../../../db/queries/device-diagnosis.ts'
import type { StoredTraceKind, Trace } from '../../../db/queries/device-traces.ts'
import type { RejectionRow } from '../../../db/queries/rejections.ts'
import type { PermissionDetail } from '../../../db/schema/roles.ts'
import { DEFAULT_OFFLINE_AFTER_MS } from '../../../stream/live/presence.ts'
import { scopeOf } from '../../http/permissions.ts'
import { CAUSES, type Cause, HIDES } from './causes.ts'

/** The facts about a device, for somebody who may not see it on the map. */
export interface Facts {
  device: DiagnosedDevice
  reported: Reported
  traces: readonly Trace[]
  /** The newest rejection, if there is one. */
  rejection: RejectionRow | null
  /** Only where they may carry the device: it has references, or came over one. */
  connections: readonly DiagnosedConnection[]
  /** Null for a user who is not active. */
  viewer: {
    permissionDetails: readonly PermissionDetail[]
    hubIds: VisibleHubs
    /** Whether it sees the hub that the device belonged to at its newest fix. */
    seesFix: boolean
  } | null
}

export interface Diagnosed {
  cause: Cause
  message: string
  /** The last time. */
  at: Date | null
  count: number | null
  address: string | null
  /** The subject of the cause: a topic, a sentence, a name. */
  detail: string | null
  payload: string | null
  connectionId: string | null
}

export interface Diagnosis {
  /** Whether the map of the user shows it as alive. */
  isOnMap: boolean
  causes: Diagnosed[]
}

const MINUTE_MS = 60_000
/** Last-seen times are written within a minute, those of refusals within a second. */
const BLUR_MS = MINUTE_MS
const NEARLY_EMPTY = 5

type More = Partial<Omit<Diagnosed, 'cause' | 'message'>>
const say = (cause: Cause, more: More = {}): Diagnosed => ({
  ...{ cause, message: CAUSES[cause], at: null, count: null, address: null, detail: null },
  ...{ payload: null, connectionId: null },
  ...more,
})

/** Names why a device is not on somebody's map; the first cause is the one to begin with. */
export function diagnose(facts: Facts): Diagnosis {
  const { device, reported } = facts
  if (device.deletedAt) return { isOnMap: false, causes: [say('deleted', { at: device.deletedAt })] }
  const hidden = listHidden(facts)
  const silentMs = device.offlineAfterMs ?? DEFAULT_OFFLINE_AFTER_MS
  const isFresh = reported.fix !== null && reported.now - reported.fix.recordedAt < silentMs
  const causes = [...hidden, ...(isFresh ? [] : listFaults(facts, silentMs))]
  if (!device.isHubWatched && (device.vehicle?.hubId ?? device.hubId)) causes.push(say('hub-without-users'))
  return { isOnMap: isFresh && !causes.some(({ cause }) => HIDES.has(cause)), causes }
}

/** Why somebody does not see it, whatever it sends. */
function listHidden({ device, viewer, reported }: Facts): Diagnosed[] {
  if (!viewer) return [say('user-not-active')]
  const causes: Diagnosed[] = []
  const scope = scopeOf(viewer.permissionDetails, 'view/location')
  if (!scope) causes.push(say('role-without-positions'))
  else if (scope !== 'all') causes.push(say('role-with-few-positions', { detail: scope }))
  const { vehicle } = device
  // The hub of a vehicle goes before that of the device (db/visibility.ts).
  if (vehicle?.hubId && !isInVisibleHub(vehicle.hubId, viewer.hubIds))
    causes.push(say('vehicle-out-of-sight', { detail: vehicle.name, at: new Date(vehicle.since) }))
  else if (!vehicle?.hubId && !isInVisibleHub(device.hubId, viewer.hubIds))
    causes.push(say('hub-out-of-sight'))
  else if (reported.fix && !viewer.seesFix)
    causes.push(say('fix-out-of-sight', { at: new Date(reported.fix.recordedAt) }))
  return causes
}

/** Why no fresh position of it has come; what happened last goes first. */
function listFaults(facts: Facts, silentMs: number): Diagnosed[] {
  const { device, reported } = facts
  const found = [...listTraced(facts), ...listOfPoints(facts, silentMs), ...listRejected(facts)].sort(
    (a, b) => (b.at?.getTime() ?? 0) - (a.at?.getTime() ?? 0),
  )
  const ofConnections = listOfConnections(facts)
  if (found.length > 0 || ofConnections.length > 0) return [...ofConnections, ...found]
  const expired = device.certificateExpiresAt
  if (expired && expired.getTime() <= reported.now) return [say('certificate-expired', { at: expired })]
  return [sayQuiet(reported, silentMs)]
}

/** The kinds of refused sign-ins: a later sign-in shows that they are mended. */
const SIGN_INS: ReadonlySet<StoredTraceKind> = new Set<StoredTraceKind>([
  ...(['wrong-key', 'replaced-key', 'other-key', 'wrong-name'] as const),
  ...(['certificate-expired', 'certificate-early', 'wrong-will'] as const),
])

function listTraced({ traces, reported }: Facts): Diagnosed[] {
  const { seenAt, fix } = reported
  return traces.flatMap(({ kind, lastAt, count, address, detail }) => {
    if (kind === 'connection') return []
    const at = lastAt.getTime()
    const mendedAt = SIGN_INS.has(kind) ? (seenAt ?? 0) - BLUR_MS : (fix?.receivedAt ?? 0)
    return at >= mendedAt ? [say(kind, { at: lastAt, count, address, detail })] : []
  })
}

/** Points that came, and are not shown as the newest. */
function listOfPoints({ reported }: Facts, silentMs: number): Diagnosed[] {
  const { fix, anomalyAt, now } = reported
  const causes: Diagnosed[] = []
  // The last point is never marked for its speed, which takes a point after it.
  if (anomalyAt !== null && anomalyAt > (fix?.recordedAt ?? 0))
    causes.push(say('inaccurate', { at: new Date(anomalyAt) }))
  if (fix && now - fix.receivedAt < silentMs && fix.receivedAt - fix.recordedAt >= MINUTE_MS)
    causes.push(
      say('clock-late', { at: new Date(fix.receivedAt), detail: new Date(fix.recordedAt).toISOString() }),
    )
  return causes
}

const BY_REASON: { [reason: string]: Cause } = { future: 'clock-ahead', 'too-old': 'clock-behind' }
/** The reasons of a profile that does not fit. */
const UNREAD: ReadonlySet<string> = new Set(['not-json', 'bad-shape', 'bad-coordinates', 'bad-timestamp'])
const OWN_TOPIC = /^(devices\/[^/]+\/location$|owntracks\/)/

function listRejected({ device, reported, rejection }: Facts): Diagnosed[] {
  if (!rejection) return []
  const at = new Date(rejection.receivedAt)
  if (at.getTime() < (reported.fix?.receivedAt ?? 0)) return []
  const { reason, message, payload, topic } = rejection
  const more = { at, payload, detail: message }
  const isOfProfile = device.profileId !== null && topic !== null && !OWN_TOPIC.test(topic)
  const causes = [say(BY_REASON[reason] ?? (reason in CAUSES ? (reason as Cause) : 'bad-shape'), more)]
  return isOfProfile && UNREAD.has(reason) ? [say('profile-does-not-read', more), ...causes] : causes
}

/** The causes in the connections that carry it. */
function listOfConnections({ device, reported, traces, connections }: Facts): Diagnosed[] {
  const carried = traces.find(({ kind }) => kind === 'connection')
  if (carried) {
    const connection = connections.find(({ id }) => id === carried.detail)
    if (!connection) return [say('connection-deleted', { at: carried.lastAt })]
    return sayStanding(connection)
  }
  if (device.references.length === 0 || reported.seenAt !== null) return []
  if (connections.length === 0) return [say('no-connection')]
  const standing = connections.map(sayStanding)
  // One that works may carry it.
  if (standing.every(causes => causes.length > 0)) return standing.flat()
  return connections.flatMap(connection => {
    const { id, name, messages, points, skipped, unknown, lastMessageAt: at } = connection
    if (unknown.length > 0)
      return [say('reference-unknown', { at, connectionId: id, detail: unknown.join(', ') })]
    const isUnread = messages > 0 && points === 0 && skipped < messages
    return isUnread ? [say('connection-does-not-read', { at, connectionId: id, detail: name })] : []
  })
}

/** Why a connection brings nothing now. */
function sayStanding({ id, name, isActive, kind, state, lastError }: DiagnosedConnection): Diagnosed[] {
  const more = { connectionId: id, detail: name }
  if (!isActive) return [say('connection-stopped', more)]
  if (kind !== 'broker' || state === 'connected') return []
  if (state === 'failed') return [say('connection-failed', { ...more, detail: lastError ?? name })]
  return [say('connection-waiting', more)]
}

/** The cause of a device of which nothing wrong is known. */
function sayQuiet({ now, seenAt, fix }: Reported, silentMs: number): Diagnosed {
  if (seenAt === null) return say('never-connected')
  const at = new Date(seenAt)
  if (now - seenAt < silentMs || !fix) return say('no-points', { at })
  if (fix.battery !== null && fix.battery <= NEARLY_EMPTY)
    return say('battery-empty', { at, detail: `${Math.round(fix.battery)} %` })
  return say('silent', { at })
}
