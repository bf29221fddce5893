import { generate } from 'mqtt-packet'
import { MAX_PACKET_BYTES } from '../../mqtt/limits.ts'
import type { BrokerSettings } from './settings.ts'

const KEEPALIVE_S = 30
/** How long the broker keeps the session while we are away, where it lets a client choose. */
const SESSION_S = 30 * 24 * 3600
/** Messages of QoS 1 that the broker may send before an acknowledgement. */
const RECEIVE_MAXIMUM = 1_000

/** The packet by which we sign in at another broker. */
export function connectPacket({ broker, secrets, clientId }: BrokerSettings, version: 4 | 5): Buffer {
  const { username } = broker
  const properties = {
    sessionExpiryInterval: SESSION_S,
    receiveMaximum: RECEIVE_MAXIMUM,
    maximumPacketSize: MAX_PACKET_BYTES,
  }
  return generate(
    {
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: version,
      clean: false,
      clientId,
      keepalive: KEEPALIVE_S,
      ...(username !== null && { username }),
      // [MQTT-3.1.2-22]: version 3.1.1 has no password without a user name.
      ...(secrets.password !== null && {
        username: username ?? '',
        password: Buffer.from(secrets.password),
      }),
      ...(version === 5 && { properties }),
    },
    { protocolVersion: version },
  )
}
