import type { Connection } from '../../../db/queries/connections.ts'
import { findBuiltIn } from '../../../ingest/profiles/readers.ts'
import { type Reached, type Setup, steps } from '../devices/reached.ts'
import { CONNECTION_KEY, describeTrackers } from '../devices/setup-trackers.ts'

type Given = Pick<Connection, '_id' | 'kind' | 'profileId' | 'headerName'> & { topic: string | null }

/** The settings that make a platform or a broker send through a connection; none for a broker that we connect to. */
export function describeConnection(connection: Given, reached: Reached): Setup[] {
  const { kind } = connection
  if (kind === 'broker') return []
  const own = kind === 'http' ? describeRequests(connection, reached) : describeMqtt(connection, reached)
  const known = Object.entries<Setup>(describeTrackers({ connectionId: connection._id }, reached))
  const vendor = known.find(([id]) => id === connection.profileId)?.[1]
  // Some trackers of a family sign in as devices, and some need the other kind of connection.
  const sign = kind === 'http' ? '/ingest/connection/' : 'mosquitto.conf'
  const isOfKind = vendor?.steps.some(({ label, value }) => `${label} ${value}`.includes(sign))
  return vendor && isOfKind ? [vendor, ...own] : own
}

function describeRequests({ _id, headerName }: Given, { origin }: Reached): Setup[] {
  const url = `${origin}/api/v3/ingest/connection/${_id}`
  const header = headerName ?? 'Authorization'
  return [
    {
      app: 'HTTP',
      steps: steps({
        Method: 'POST',
        URL: url,
        [`Header ${header}`]: headerName ? CONNECTION_KEY : `Bearer ${CONNECTION_KEY}`,
      }),
    },
    { app: 'HTTP, key in the address', steps: steps({ URL: `${url}?key=${CONNECTION_KEY}` }) },
  ]
}

function describeMqtt({ _id, profileId, topic }: Given, { hostname, mqtt }: Reached): Setup[] {
  const filter = findBuiltIn(profileId)?.topic ?? topic ?? '#'
  const topics = { Topics: filter }
  const signIn = { 'User name': _id, Password: CONNECTION_KEY }
  return [
    {
      app: 'MQTT',
      steps: steps({
        Host: hostname,
        Port: String(mqtt.port),
        TLS: mqtt.tls ? 'on' : 'off',
        ...signIn,
        ...topics,
        'Quality of service': '1',
      }),
    },
    {
      app: 'Mosquitto as a bridge',
      steps: steps({
        'mosquitto.conf: connection': 'fieldline',
        'mosquitto.conf: address': `${hostname}:${mqtt.port}`,
        'mosquitto.conf: remote_username': _id,
        'mosquitto.conf: remote_password': CONNECTION_KEY,
        'mosquitto.conf: topic': `${filter} out 1`,
        'mosquitto.conf: try_private': 'false',
        'mosquitto.conf: notifications': 'false',
        'mosquitto.conf: cleansession': 'false',
      }),
    },
  ]
}
