import type { Queryable } from '../../db/client.ts'
import { type ConnectionRow, listActiveConnections } from '../../db/queries/connections.ts'
import type { ConnectionCredential } from '../identity/authenticate.ts'
import { matches } from '../mqtt/topics.ts'
import type { Profiles, UsedProfile } from '../profiles/profiles.ts'

/** A connection through which many devices send, each message read by its profile. */
export interface TrackerConnection extends ConnectionCredential {
  way: ConnectionRow['kind']
  headerName: string | null
  profile: UsedProfile
}

/** The active ones among these connections, of any organization. */
export async function listTrackerConnections(
  db: Queryable,
  profiles: Profiles,
  ids: readonly string[],
): Promise<Map<string, TrackerConnection>> {
  const rows = [...(await listActiveConnections(db, ids)).values()]
  const found = await Promise.all(
    rows.map(async ({ kind: way, ...row }) => {
      const profile = await profiles.use(row.profileId)
      return [row.id, { ...row, kind: 'connection', way, profile } satisfies TrackerConnection] as const
    }),
  )
  return new Map(found)
}

/** How a Mosquitto that is set up as a bridge says whether it is connected; such messages hold no position. */
const BRIDGE_STATE = '$SYS/broker/connection/+/state'

export const isBridgeState = (topic: string): boolean => matches(BRIDGE_STATE, topic)

/** Whether clients of a connection may publish there. [MQTT-4.7.2-1]: no wildcard begins a topic with $. */
export function takesTopic({ profile }: Pick<TrackerConnection, 'profile'>, topic: string): boolean {
  const filter = profile.reader?.topic
  if (isBridgeState(topic)) return true
  return filter !== undefined && matches(filter, topic) && (!topic.startsWith('$') || filter.startsWith('$'))
}
